#include "engine/request_clock.h"

#include <algorithm>

namespace vitrine::engine {
namespace {

using trace::Stage;

double RequestTimings::*part_of(Stage stage) {
  switch (stage) {
    case Stage::kQueue:
      return &RequestTimings::queue_s;
    case Stage::kLookup:
      return &RequestTimings::lookup_s;
    case Stage::kSchedule:
      return &RequestTimings::schedule_s;
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

}  // namespace

void RequestClock::write_from(TimePoint moment) {
  if (timeline_ != nullptr) write_from_ = moment;
}

void RequestClock::book(Stage stage, TimePoint until) {
  timings_.*part_of(stage) += std::chrono::duration<double>(until - last_).count();
  last_ = until;
  last_span_ = {};
}

void RequestClock::charge_until(Stage stage, TimePoint until, std::string_view name) {
  const TimePoint since = last_;
  book(stage, until);
  if (!writes() || until <= *write_from_) return;
  const TimePoint start = std::max(since, *write_from_);
  last_span_ = timeline_->record(stage, {timeline_->ns_at(start), timeline_->ns_at(until)}, {}, name);
}

void RequestClock::charge_callback_since(std::size_t num_spans) {
  if (count_spans() != num_spans) return book(Stage::kOther, std::chrono::steady_clock::now());
  charge(Stage::kOther, "callback");
}

void RequestClock::annotate(std::string_view key, std::size_t value) {
  if (last_span_ == trace::SpanId{}) return;
  timeline_->annotate(last_span_, key, static_cast<std::int64_t>(value));
}

void RequestClock::mark_first_token() {
  if (!timings_.first_token_s) timings_.first_token_s = timings_.total_s();
}

}  // namespace vitrine::engine
