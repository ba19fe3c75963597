#include "server/engine_call.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "server/api_error.h"
#include "server/signal.h"

namespace vitrine::server {
namespace {

constexpr std::chrono::seconds kPatience{30};  // between two pieces
constexpr std::chrono::milliseconds kLook{500};

// Between the engine's thread and the one that waits.
struct EngineCall {
  explicit EngineCall(asio::any_io_executor executor) : ended(std::make_shared<Signal>(std::move(executor))) {}

  std::shared_ptr<Signal> ended;
  std::atomic<std::size_t> num_pieces = 0;
  std::atomic<bool> has_ended = false;
  std::exception_ptr failure;  // set before has_ended
};

bool run_piece(EngineCall& call, const std::function<bool()>& piece) {
  try {
    ++call.num_pieces;
    if (piece()) return true;
  } catch (...) {
    call.failure = std::current_exception();
  }
  call.has_ended = true;
  call.ended->raise();
  return false;
}

}  // namespace

Awaitable<void> run_on_engine(const ServedModel& model, std::function<bool()> piece) {
  const auto executor = co_await asio::this_coro::executor;
  const auto call = std::make_shared<EngineCall>(executor);
  // The executor may die before the engine is done.
  const std::shared_ptr<void> closer(nullptr, [call](void*) { call->ended->close(); });
  model.engine->engine().run_between_steps([call, work = std::move(piece)] { return run_piece(*call, work); });
  std::size_t num_seen = 0;
  auto last_news = std::chrono::steady_clock::now();
  while (!call->has_ended) {
    co_await call->ended->wait(kLook);
    const auto now = std::chrono::steady_clock::now();
    if (const std::size_t num_pieces = call->num_pieces; num_pieces != num_seen) {
      num_seen = num_pieces;
      last_news = now;
    } else if (now - last_news > kPatience) {
      throw ApiException({.status = 503, .message = "the model's engine does not come to it; try again later"});
    }
  }
  if (call->failure != nullptr) std::rethrow_exception(call->failure);
}

}  // namespace vitrine::server
