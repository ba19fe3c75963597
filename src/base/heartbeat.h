#pragma once

#include <atomic>
#include <chrono>

namespace vitrine::base {

// When something last got on. Any thread beats and looks.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  void beat() { last_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed); }
  Clock::duration since() const {
    return Clock::now().time_since_epoch() - Clock::duration(last_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<Clock::rep> last_ = 0;
};

}  // namespace vitrine::base
