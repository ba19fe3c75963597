#pragma once

#include <chrono>

#include "engine/request.h"
#include "trace/timeline.h"

namespace vitrine::engine {

// Divides a request's life into the parts of RequestTimings, and into spans of its timeline while it writes to one:
// each charge books the time since the charge before it, so the parts sum to the whole by construction.
class RequestClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `timeline` may be null.
  explicit RequestClock(trace::Timeline* timeline) : timeline_(timeline) {}

  // Requests may share a timeline; one at a time writes to it, from the moment at which another stopped.
  trace::Timeline* timeline() const { return timeline_; }
  void write_from(TimePoint moment);
  TimePoint last_charge() const { return last_; }

  // `name` is static text; empty takes the stage's.
  void charge(trace::Stage stage, std::string_view name = {}) {
    charge_until(stage, std::chrono::steady_clock::now(), name);
  }
  // The same, up to a moment that lies between the last charge and now.
  void charge_until(trace::Stage stage, TimePoint until, std::string_view name = {});
  // Runs what belongs to the client and charges its time. Where it records spans of its own, these stand for it.
  template <typename Callback>
  void charge_callback(Callback callback) {
    const std::size_t num_spans = count_spans();
    callback();
    charge_callback_since(num_spans);
  }
  // Adds a number to the span that the last charge made.
  void annotate(std::string_view key, std::size_t value);
  void mark_first_token();
  const RequestTimings& timings() const { return timings_; }

 private:
  bool writes() const { return write_from_.has_value(); }
  std::size_t count_spans() const { return writes() ? timeline_->num_spans() : 0; }
  void charge_callback_since(std::size_t num_spans);
  void book(trace::Stage stage, TimePoint until);

  trace::Timeline* timeline_;
  std::optional<TimePoint> write_from_;
  trace::SpanId last_span_;
  TimePoint last_ = std::chrono::steady_clock::now();
  RequestTimings timings_;
};

}  // namespace vitrine::engine
