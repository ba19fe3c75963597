#include "engine/request_clock.h"

namespace vitrine::engine {
namespace {

using trace::Stage;

double RequestTimings::*part_of(Stage stage) {
  switch (stage) {
    case Stage::kQueue:
      return &RequestTimings::queue_s;
    case Stage::kPrefill:
      return &RequestTimings::prefill_s;
    case Stage::kDecode:
      return &RequestTimings::decode_s;
    case Stage::kSample:
      return &RequestTimings::sample_s;
    default:
      return &RequestTimings::other_s;
  }
}

std::int64_t nanoseconds(RequestClock::TimePoint::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

void RequestClock::charge_until(Stage stage, TimePoint until) {
  const auto elapsed = until - last_;
  timings_.*part_of(stage) += std::chrono::duration<double>(elapsed).count();
  last_ = until;
  last_span_ = {};
  // What belongs to no stage is left to whoever owns the timeline: it spends that time, in its callback.
  if (timeline_ == nullptr || stage == Stage::kOther) return;
  const std::int64_t end_ns = timeline_->now_ns() - nanoseconds(std::chrono::steady_clock::now() - until);
  last_span_ = timeline_->record(stage, {end_ns - nanoseconds(elapsed), end_ns});
}

void RequestClock::annotate(std::string_view key, std::size_t value) {
  if (last_span_ == trace::SpanId{}) return;
  timeline_->annotate(last_span_, key, static_cast<std::int64_t>(value));
}

void RequestClock::mark_first_token() {
  if (!timings_.first_token_s) timings_.first_token_s = timings_.total_s();
}

}  // namespace vitrine::engine
