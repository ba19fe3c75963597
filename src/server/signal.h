#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/awaitable.h"

namespace vitrine::server {

// Wakes a coroutine that waits for another thread. Lives in a shared_ptr, which that thread may hold for longer than
// the coroutine and its executor live.
class Signal : public std::enable_shared_from_this<Signal> {
 public:
  explicit Signal(asio::any_io_executor executor) : executor_(std::move(executor)), timer_(std::in_place, executor_) {}

  // Any thread. Whoever looks at what changed just before it waits misses none: the wake-up runs on its own thread.
  void raise();
  // The other two belong to the one who waits. Returns after `patience` at the latest.
  Awaitable<void> wait(std::chrono::milliseconds patience);
  // Nobody waits any more; the executor may die after this.
  void close();

 private:
  asio::any_io_executor executor_;
  std::optional<asio::steady_timer> timer_;
  std::mutex mutex_;
  bool is_closed_ = false;
};

}  // namespace vitrine::server
