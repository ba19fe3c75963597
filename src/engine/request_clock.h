#pragma once

#include <chrono>

#include "engine/request.h"
#include "trace/timeline.h"

namespace vitrine::engine {

// Divides a request's life into the parts of RequestTimings, and into spans of its timeline where it has one: each
// charge books the time since the charge before it, so the parts sum to the whole by construction.
class RequestClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `timeline` may be null.
  explicit RequestClock(trace::Timeline* timeline) : timeline_(timeline) {}

  void charge(trace::Stage stage) { charge_until(stage, std::chrono::steady_clock::now()); }
  // The same, up to a moment that lies between the last charge and now.
  void charge_until(trace::Stage stage, TimePoint until);
  // Adds a number to the span that the last charge made.
  void annotate(std::string_view key, std::size_t value);
  void mark_first_token();
  const RequestTimings& timings() const { return timings_; }

 private:
  trace::Timeline* timeline_;
  trace::SpanId last_span_;
  TimePoint last_ = std::chrono::steady_clock::now();
  RequestTimings timings_;
};

}  // namespace vitrine::engine
