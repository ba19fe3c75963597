#include "server/model_pool.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

// Looks again even when nothing has changed: a model in use may have stayed long enough by then.
constexpr std::chrono::milliseconds kLookAgain{500};

ApiException cannot_load() {
  return ApiException({.status = 503,
                       .message = "model: it can't be loaded; the server's log says why",
                       .param = "model",
                       .code = "model_unavailable"});
}

ApiException still_busy(const char* message) {
  return ApiException(
      {.status = 503, .message = message, .param = "model", .code = "model_busy", .headers = {{"retry-after", "10"}}});
}

}  // namespace

bool ModelOffer::is_called(std::string_view wanted) const {
  return wanted == name || std::ranges::find(aliases, wanted) != aliases.end();
}

std::string_view state_name(ModelSlot::State state) {
  switch (state) {
    case ModelSlot::State::kUnloaded:
      return "unloaded";
    case ModelSlot::State::kLoading:
      return "loading";
    case ModelSlot::State::kReady:
      return "ready";
    case ModelSlot::State::kUnloading:
      break;
  }
  return "unloading";
}

ModelSlot::ModelSlot(ModelOffer offer, std::size_t max_waiting)
    : offer_(std::move(offer)),
      state_(offer_.loaded != nullptr ? State::kReady : State::kUnloaded),
      queue_(offer_.name, {offer_.max_sequences, max_waiting}),
      num_loads_(offer_.loaded != nullptr ? 1 : 0),
      loaded_at_(Clock::now()),
      last_use_(loaded_at_) {}

ModelLease::ModelLease(ModelPool& pool, ModelSlot& slot) : pool_(&pool), slot_(&slot) {
  ++slot.num_users_;
}

ModelLease::~ModelLease() {
  if (slot_ != nullptr) pool_->release(*slot_);
}

ModelLease::ModelLease(ModelLease&& other) noexcept : pool_(other.pool_), slot_(std::exchange(other.slot_, nullptr)) {}

// A coroutine that waits for its model; what it waits for is known to the others meanwhile.
class ModelPool::Waiter {
 public:
  Waiter(ModelPool& pool, ModelSlot& slot, const asio::any_io_executor& executor)
      : pool_(pool), slot_(slot), timer_(pool.waiters_.emplace(pool.waiters_.end(), executor)) {
    ++slot_.num_waiting_;
  }
  ~Waiter() {
    if (may_enter()) --slot_.num_expected_;
    --slot_.num_waiting_;
    pool_.waiters_.erase(timer_);
    pool_.reopen_unwanted();
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Whether the model was loaded while this waited.
  bool may_enter() const { return slot_.state_ == ModelSlot::State::kReady && began_ <= slot_.loaded_at_; }

  Awaitable<void> wait(std::chrono::milliseconds patience) {
    timer_->expires_after(patience);
    boost::system::error_code ignored;  // a wake-up ends the wait as an error
    co_await timer_->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

 private:
  ModelPool& pool_;
  ModelSlot& slot_;
  Clock::time_point began_ = Clock::now();
  std::list<asio::steady_timer>::iterator timer_;
};

ModelPool::ModelPool(std::vector<ModelOffer> offers, Options options) : options_(options) {
  for (ModelOffer& offer : offers) {
    const std::size_t max_waiting = offer.max_waiting.value_or(options_.max_waiting);
    slots_.emplace_back(std::move(offer), max_waiting);
  }
}

Awaitable<ModelLease> ModelPool::acquire(ModelSlot& slot) {
  if (slot.is_open()) co_return ModelLease(*this, slot);
  if (slot.num_waiting_ >= max_waiting_of(slot)) throw still_busy("model: too many requests wait for it to be loaded");
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Waiter waiter(*this, slot, executor);
  const std::size_t num_failures = slot.num_failures_;
  const auto deadline = Clock::now() + options_.patience;
  while (!slot.is_open() && !waiter.may_enter()) {
    if (slot.num_failures_ != num_failures) throw cannot_load();
    if (Clock::now() >= deadline) throw still_busy("model: others take its memory; ask again later");
    advance(executor, slot);
    co_await waiter.wait(kLookAgain);
  }
  co_return ModelLease(*this, slot);
}

void ModelPool::unload_idle(const asio::any_io_executor& executor) {
  if (is_moving_) return;
  const auto now = Clock::now();
  const auto is_over = [&](const ModelSlot& slot) {
    const auto keep_alive = keep_alive_of(slot);
    return slot.is_idle() && keep_alive && now - slot.last_use_ >= *keep_alive;
  };
  const auto slot = std::ranges::find_if(slots_, is_over);
  if (slot != slots_.end()) begin_unload(executor, *slot);
}

bool ModelPool::has_keep_alive() const {
  return std::ranges::any_of(slots_, [this](const ModelSlot& slot) { return keep_alive_of(slot).has_value(); });
}

std::optional<std::chrono::seconds> ModelPool::keep_alive_of(const ModelSlot& slot) const {
  return slot.offer().keep_alive ? slot.offer().keep_alive : options_.keep_alive;
}

std::size_t ModelPool::max_waiting_of(const ModelSlot& slot) const {
  return slot.offer().max_waiting.value_or(options_.max_waiting);
}

// One step towards a loaded model, where one can be taken now.
void ModelPool::advance(const asio::any_io_executor& executor, ModelSlot& slot) {
  if (is_moving_) return;
  if (slot.state_ == ModelSlot::State::kReady) {  // it was to make room
    if (slot.is_idle()) begin_unload(executor, slot);
    return;
  }
  if (!has_room(slot)) {
    ModelSlot* idle = least_recent_idle();
    return idle != nullptr ? begin_unload(executor, *idle) : close_longest_loaded();
  }
  is_moving_ = true;
  slot.state_ = ModelSlot::State::kLoading;
  asio::co_spawn(executor, load(slot), asio::detached);
}

void ModelPool::begin_unload(const asio::any_io_executor& executor, ModelSlot& slot) {
  is_moving_ = true;
  slot.state_ = ModelSlot::State::kUnloading;
  asio::co_spawn(executor, unload(slot), asio::detached);
}

Awaitable<void> ModelPool::load(ModelSlot& slot) {
  auto work = [&slot] { return slot.offer_.load(); };
  try {
    slot.offer_.loaded = co_await run_on(loader_, std::move(work));
  } catch (const std::exception& exception) {
    fmt::print(stderr, "vitrine: {} can't be loaded: {}\n", slot.offer_.name, exception.what());
  }
  const bool is_loaded = slot.offer_.loaded != nullptr;
  slot.num_loads_ += is_loaded ? 1 : 0;
  slot.num_failures_ += is_loaded ? 0 : 1;
  end_move(slot, is_loaded ? ModelSlot::State::kReady : ModelSlot::State::kUnloaded);
}

Awaitable<void> ModelPool::unload(ModelSlot& slot) {
  auto work = [model = std::move(slot.offer_.loaded)]() mutable { model.reset(); };
  co_await run_on(loader_, std::move(work));
  end_move(slot, ModelSlot::State::kUnloaded);
}

void ModelPool::end_move(ModelSlot& slot, ModelSlot::State state) {
  slot.state_ = state;
  slot.is_closing_ = false;
  slot.num_expected_ = state == ModelSlot::State::kReady ? slot.num_waiting_ : 0;
  slot.loaded_at_ = slot.last_use_ = Clock::now();
  is_moving_ = false;
  wake_all();
}

void ModelPool::release(ModelSlot& slot) {
  slot.last_use_ = Clock::now();
  if (--slot.num_users_ == 0) wake_all();
}

bool ModelPool::has_room(const ModelSlot& slot) const {
  std::size_t used = 0;
  for (const ModelSlot& other : slots_)
    used += other.state_ == ModelSlot::State::kUnloaded ? 0 : other.offer_.planned_bytes;
  return used == 0 || (used <= options_.memory_bytes && slot.offer_.planned_bytes <= options_.memory_bytes - used);
}

ModelSlot* ModelPool::least_recent_idle() {
  ModelSlot* oldest = nullptr;
  for (ModelSlot& slot : slots_) {
    if (slot.is_idle() && (oldest == nullptr || slot.last_use_ < oldest->last_use_)) oldest = &slot;
  }
  return oldest;
}

void ModelPool::close_longest_loaded() {
  ModelSlot* oldest = nullptr;
  for (ModelSlot& slot : slots_) {
    if (slot.state_ != ModelSlot::State::kReady || slot.offer_.is_pinned) continue;
    if (slot.is_closing_) return;  // one after the other
    if (oldest == nullptr || slot.loaded_at_ < oldest->loaded_at_) oldest = &slot;
  }
  if (oldest != nullptr && Clock::now() - oldest->loaded_at_ >= options_.min_stay) oldest->is_closing_ = true;
}

// Where nobody waits for a model to be loaded any more, those that were to make room for one stay.
void ModelPool::reopen_unwanted() {
  const auto is_wanted = [](const ModelSlot& slot) {
    return slot.num_waiting_ > 0 && slot.state_ != ModelSlot::State::kReady;
  };
  if (std::ranges::any_of(slots_, is_wanted)) return;
  for (ModelSlot& slot : slots_) {
    if (std::exchange(slot.is_closing_, false)) wake_all();
  }
}

void ModelPool::wake_all() {
  for (asio::steady_timer& timer : waiters_)
    timer.cancel();
}

}  // namespace vitrine::server
