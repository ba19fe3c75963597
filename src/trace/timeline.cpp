#include "trace/timeline.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace vitrine::trace {
namespace {

constexpr std::string_view kStageNames[] = {
    "load",   "queue", "template", "tokenize", "lookup",     "schedule", "prefill",
    "decode", "layer", "op",       "sample",   "detokenize", "socket",   "other",
};
static_assert(std::size(kStageNames) == kNumStages);

constexpr std::size_t kInitialSpans = 64;

}  // namespace

std::string_view stage_name(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

std::int64_t union_length(std::span<Interval> intervals, std::int64_t end_ns) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  std::int64_t length = 0;
  std::int64_t covered_until = 0;
  for (const Interval& interval : intervals) {
    const std::int64_t start = std::max(interval.start_ns, covered_until);
    const std::int64_t end = std::min(interval.end_ns, end_ns);
    if (end <= start) continue;
    length += end - start;
    covered_until = end;
  }
  return length;
}

Timeline::Timeline(std::size_t capacity, TimePoint start) : start_(start), capacity_(capacity) {
  VT_CHECK(capacity < SpanId::kNone / 2, "span ids have 32 bits");
  spans_.reserve(std::min(capacity, kInitialSpans));
}

std::int64_t Timeline::ns_at(TimePoint moment) const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(moment - start_).count();
}

SpanId Timeline::keep(const Span& span) {
  spans_.push_back(span);
  return {static_cast<std::uint32_t>(spans_.size() - 1)};
}

SpanId Timeline::begin(Stage stage, SpanId parent, std::string_view name) {
  const Span span{.name = name.empty() ? stage_name(stage) : name,
                  .time = {.start_ns = now_ns(), .end_ns = Span::kOpen},
                  .parent = parent,
                  .stage = stage};
  if (spans_.size() < capacity_) return keep(span);
  open_overflow_.push_back(span);
  return {static_cast<std::uint32_t>(capacity_ + open_overflow_.size() - 1)};
}

void Timeline::end(SpanId id) {
  if (wall_ns_) return;  // finishing ended it
  Span& span = at(id);
  last_end_ns_ = span.time.end_ns = now_ns();
  if (id.index < capacity_) return;
  count_overflowed(span);
  while (!open_overflow_.empty() && open_overflow_.back().time.end_ns != Span::kOpen)
    open_overflow_.pop_back();
}

SpanId Timeline::record(Stage stage, Interval time, SpanId parent, std::string_view name) {
  const Span span{.name = name.empty() ? stage_name(stage) : name, .time = time, .parent = parent, .stage = stage};
  last_end_ns_ = std::max(last_end_ns_, time.end_ns);
  if (spans_.size() < capacity_) return keep(span);
  count_overflowed(span);
  return {};
}

void Timeline::add(const Timeline& other) {
  VT_CHECK(open_overflow_.empty(), "an open span's id depends on the capacity");
  const std::int64_t offset_ns = ns_at(other.start_);
  capacity_ += other.spans_.size();
  std::vector<SpanId> ids;
  for (const Span& span : other.spans_) {
    const std::int64_t end_ns = span.time.end_ns == Span::kOpen ? other.wall_ns() : span.time.end_ns;
    const SpanId parent = span.parent.index < ids.size() ? ids[span.parent.index] : SpanId{};
    ids.push_back(record(span.stage, {span.time.start_ns + offset_ns, end_ns + offset_ns}, parent, span.name));
  }
  for (const Attribute& attribute : other.attributes_)
    annotate(ids[attribute.span.index], attribute.key, attribute.value);
  num_overflowed_ += other.num_overflowed_;
  overflow_top_level_ns_ += other.overflow_top_level_ns_;
  for (std::size_t i = 0; i < kNumStages; ++i)
    overflow_stage_ns_[i] += other.overflow_stage_ns_[i];
}

void Timeline::annotate(SpanId span, std::string_view key, AttributeValue value) {
  if (span.index < spans_.size()) attributes_.push_back({span, key, std::move(value)});
}

void Timeline::finish() {
  finish_at(now_ns());
}

void Timeline::finish_at(std::int64_t wall_ns) {
  if (wall_ns_) return;
  wall_ns_ = wall_ns;
  for (Span& span : open_overflow_) {
    if (span.time.end_ns != Span::kOpen) continue;
    span.time.end_ns = std::max(wall_ns, span.time.start_ns);
    count_overflowed(span);
  }
  keep_last();
  for (Span& span : spans_) {
    span.time.start_ns = std::min(span.time.start_ns, wall_ns);
    span.time.end_ns = span.time.end_ns == Span::kOpen ? wall_ns : std::min(span.time.end_ns, wall_ns);
  }
}

std::int64_t Timeline::stage_ns(Stage stage) const {
  std::vector<Interval> intervals = intervals_where([=](const Span& span) { return span.stage == stage; });
  return union_length(intervals, wall_ns()) + overflow_stage_ns_[static_cast<std::size_t>(stage)];
}

std::int64_t Timeline::unaccounted_ns() const {
  const std::int64_t wall = wall_ns();
  std::vector<Interval> intervals = intervals_where([](const Span& span) { return span.parent == SpanId{}; });
  return std::max<std::int64_t>(0, wall - union_length(intervals, wall) - overflow_top_level_ns_);
}

Span& Timeline::at(SpanId id) {
  if (id.index < spans_.size()) return spans_[id.index];
  VT_CHECK(id.index >= capacity_ && id.index - capacity_ < open_overflow_.size(), "no such open span");
  return open_overflow_[id.index - capacity_];
}

Stage Timeline::stage_of(SpanId id) const {
  if (id.index < spans_.size()) return spans_[id.index].stage;
  const std::size_t overflow_idx = id.index - capacity_;
  return overflow_idx < open_overflow_.size() ? open_overflow_[overflow_idx].stage : Stage::kOther;
}

void Timeline::count_overflowed(const Span& span) {
  ++num_overflowed_;
  add_to_totals(span, 1);
  if (span.parent != SpanId{}) return;
  if (last_overflow_.size() < kNumLast) return last_overflow_.push_back(span);
  last_overflow_[next_last_] = span;
  next_last_ = (next_last_ + 1) % kNumLast;
}

void Timeline::add_to_totals(const Span& span, std::int64_t sign) {
  const std::int64_t length = sign * (span.time.end_ns - span.time.start_ns);
  const bool is_top_level = span.parent == SpanId{};
  if (is_top_level) overflow_top_level_ns_ += length;
  if (is_top_level || stage_of(span.parent) != span.stage)
    overflow_stage_ns_[static_cast<std::size_t>(span.stage)] += length;
}

// How a long request ended matters as much as how it began.
void Timeline::keep_last() {
  std::ranges::rotate(last_overflow_, last_overflow_.begin() + static_cast<std::ptrdiff_t>(next_last_));
  for (const Span& span : last_overflow_) {
    add_to_totals(span, -1);
    --num_overflowed_;
    keep(span);
  }
  capacity_ = std::max(capacity_, spans_.size());
  last_overflow_.clear();
}

std::size_t Timeline::size_bytes() const {
  return sizeof(Timeline) + spans_.capacity() * sizeof(Span) + attributes_.capacity() * sizeof(Attribute) +
         last_overflow_.capacity() * sizeof(Span);
}

void ScopedSpan::annotate(std::string_view key, AttributeValue value) {
  timeline_.annotate(id_, key, std::move(value));
}

template <typename Wanted>
std::vector<Interval> Timeline::intervals_where(Wanted wanted) const {
  const std::int64_t wall = wall_ns();
  std::vector<Interval> intervals;
  for (const Span& span : spans_) {
    if (!wanted(span)) continue;
    const bool is_open = span.time.end_ns == Span::kOpen;
    intervals.push_back({span.time.start_ns, is_open ? wall : span.time.end_ns});
  }
  return intervals;
}

}  // namespace vitrine::trace
