#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "plan/network.h"
#include "server/answer_queue.h"
#include "server/awaitable.h"
#include "server/served_model.h"

namespace vitrine::server {

// A model that the program can load for the server.
struct ModelOffer {
  std::string name;                                     // by which clients ask for it
  std::vector<std::string> aliases = {};                // further names
  std::int64_t created = 0;                             // seconds since 1970
  std::size_t context_length = 0;                       // tokens
  std::size_t max_sequences = 1;                        // that run at once
  std::size_t planned_bytes = 0;                        // the most that it takes while it is loaded
  bool is_pinned = false;                               // stays loaded once it is
  std::optional<std::chrono::seconds> keep_alive = {};  // these two: where it is not as ModelPool::Options has it
  std::optional<std::size_t> max_waiting = {};
  std::function<plan::Network()> network = {};              // its sizes, from its file's header; any thread, may throw
  std::function<std::unique_ptr<LoadedModel>()> load = {};  // on a thread of the pool; may throw
  std::unique_ptr<LoadedModel> loaded = {};                 // not null: it is loaded already

  bool is_called(std::string_view wanted) const;
};

// The place of one model in the pool.
class ModelSlot {
 public:
  enum class State { kUnloaded, kLoading, kReady, kUnloading };

  ModelSlot(ModelOffer offer, std::size_t max_waiting);
  ModelSlot(const ModelSlot&) = delete;
  ModelSlot& operator=(const ModelSlot&) = delete;

  const ModelOffer& offer() const { return offer_; }
  State state() const { return state_; }
  const LoadedModel* loaded() const { return offer_.loaded.get(); }  // null unless it is ready
  AnswerQueue& queue() { return queue_; }
  std::size_t num_users() const { return num_users_; }
  std::size_t num_loads() const { return num_loads_; }  // since the server began

 private:
  friend class ModelPool;
  friend class ModelLease;
  using Clock = std::chrono::steady_clock;

  // Whether requests may begin on it.
  bool is_open() const { return state_ == State::kReady && !is_closing_; }
  // Whether it may go: nobody uses it, nor is about to.
  bool is_idle() const { return state_ == State::kReady && num_users_ == 0 && num_expected_ == 0 && !offer_.is_pinned; }

  ModelOffer offer_;
  State state_;
  AnswerQueue queue_;
  bool is_closing_ = false;  // takes no new users, so that others get its memory
  std::size_t num_users_ = 0;
  std::size_t num_waiting_ = 0;   // for it to be open
  std::size_t num_expected_ = 0;  // of those, who had waited before it was loaded and come in whatever happens
  std::size_t num_loads_ = 0;
  std::size_t num_failures_ = 0;
  Clock::time_point loaded_at_;
  Clock::time_point last_use_;
};

// "unloaded", "loading", "ready", "unloading".
std::string_view state_name(ModelSlot::State state);

class ModelPool;

// Keeps a model loaded as long as it lives. Used on the thread of the sockets; the model itself may be read on others.
class ModelLease {
 public:
  ModelLease(ModelPool& pool, ModelSlot& slot);
  ~ModelLease();
  ModelLease(ModelLease&& other) noexcept;
  ModelLease& operator=(ModelLease&&) = delete;

  const ServedModel& model() const { return slot_->loaded()->served(); }
  AnswerQueue& queue() const { return slot_->queue(); }

 private:
  ModelPool* pool_;
  ModelSlot* slot_;  // null: moved from
};

// The models of a server. One that is not loaded is loaded when it is first asked for; those that nobody uses make room
// for it, the one used longest ago first, and where all are in use, the one that has been loaded for longest takes no
// new requests until it is gone. One model comes or goes at a time. Used on the thread of the sockets.
class ModelPool {
 public:
  struct Options {
    std::size_t memory_bytes = std::numeric_limits<std::size_t>::max();  // of planned bytes, all loaded models together
    std::optional<std::chrono::seconds> keep_alive = {};  // after that long without a request a model is unloaded
    std::chrono::milliseconds min_stay{5'000};            // what a model in use is loaded for at least
    std::chrono::milliseconds patience{300'000};          // what a request waits for its model at most
    std::size_t max_waiting = 1024;                       // requests that wait for a model to be loaded, answers in it
  };
  ModelPool(std::vector<ModelOffer> offers, Options options);
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  std::deque<ModelSlot>& slots() { return slots_; }
  const std::deque<ModelSlot>& slots() const { return slots_; }

  // Waits until the model is loaded. Throws ApiException (503) where it can't be, or not in time.
  Awaitable<ModelLease> acquire(ModelSlot& slot);
  // Unloads what nobody has used for the time to keep alive; to be called now and then.
  void unload_idle(const asio::any_io_executor& executor);
  // Whether there is a model that it could unload.
  bool has_keep_alive() const;
  // Waits for a model that is being loaded or unloaded.
  void join() { loader_.join(); }

 private:
  friend class ModelLease;
  using Clock = std::chrono::steady_clock;
  class Waiter;

  void advance(const asio::any_io_executor& executor, ModelSlot& slot);
  void begin_unload(const asio::any_io_executor& executor, ModelSlot& slot);
  Awaitable<void> load(ModelSlot& slot);
  Awaitable<void> unload(ModelSlot& slot);
  void end_move(ModelSlot& slot, ModelSlot::State state);
  void release(ModelSlot& slot);

  std::optional<std::chrono::seconds> keep_alive_of(const ModelSlot& slot) const;
  std::size_t max_waiting_of(const ModelSlot& slot) const;
  bool has_room(const ModelSlot& slot) const;
  ModelSlot* least_recent_idle();
  void close_longest_loaded();
  void reopen_unwanted();
  void wake_all();

  Options options_;
  std::deque<ModelSlot> slots_;
  std::list<asio::steady_timer> waiters_;
  bool is_moving_ = false;  // a model is being loaded or unloaded
  asio::thread_pool loader_{1};
};

}  // namespace vitrine::server
