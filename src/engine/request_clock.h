#pragma once

#include <chrono>

#include "engine/request.h"

namespace vitrine::engine {

// Divides a request's life into the parts of RequestTimings: each charge books the time since the charge before it, so
// the parts sum to the whole by construction.
class RequestClock {
 public:
  void charge(double RequestTimings::*part) {
    const Clock::time_point now = Clock::now();
    timings_.*part += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  void mark_first_token() {
    if (!timings_.first_token_s) timings_.first_token_s = timings_.total_s();
  }
  const RequestTimings& timings() const { return timings_; }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point last_ = Clock::now();
  RequestTimings timings_;
};

}  // namespace vitrine::engine
