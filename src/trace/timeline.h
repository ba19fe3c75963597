#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vitrine::trace {

// What a span's time was spent on. A request's timings are given per stage.
enum class Stage : std::uint8_t {
  kLoad,
  kQueue,
  kTemplate,
  kTokenize,
  kLookup,
  kSchedule,
  kPrefill,
  kDecode,
  kLayer,
  kOp,
  kSample,
  kDetokenize,
  kSocket,
  kOther,
};
inline constexpr std::size_t kNumStages = static_cast<std::size_t>(Stage::kOther) + 1;

std::string_view stage_name(Stage stage);

// Names a span of one timeline; the default names none, as the parent of a top-level span does.
struct SpanId {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::uint32_t index = kNone;

  bool operator==(const SpanId&) const = default;
};

// Nanoseconds since the timeline began.
struct Interval {
  std::int64_t start_ns;
  std::int64_t end_ns;
};

struct Span {
  std::string_view name;  // static text
  Interval time;          // end_ns is kOpen until the span ends
  SpanId parent;
  Stage stage;

  static constexpr std::int64_t kOpen = -1;
};

using AttributeValue = std::variant<std::int64_t, double, std::string>;
inline AttributeValue size_attribute(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

struct Attribute {
  SpanId span;
  std::string_view key;  // static text
  AttributeValue value;
};

// Length of the union of the intervals within [0, end_ns]: what overlaps is counted once. Reorders the intervals.
std::int64_t union_length(std::span<Interval> intervals, std::int64_t end_ns);

// Where one request's time went, measured with the steady clock from a start to finish(). Always on: a span is two
// readings of the clock and one 40-byte entry. The first `capacity` spans are kept, and at finish() the last kNumLast
// top-level ones; those between count in the totals alone, top-level ones as if they did not overlap. Used by one
// thread at a time: it travels with its request.
class Timeline {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kDefaultCapacity = 4096;
  static constexpr std::size_t kNumLast = 32;
  explicit Timeline(std::size_t capacity = kDefaultCapacity, TimePoint start = std::chrono::steady_clock::now());

  // `name` is static text; empty takes the stage's. Spans end in any order.
  SpanId begin(Stage stage, SpanId parent = {}, std::string_view name = {});
  void end(SpanId span);
  // A span that was measured elsewhere.
  SpanId record(Stage stage, Interval time, SpanId parent = {}, std::string_view name = {});
  // All of another timeline, at the times at which it happened, as if it had been recorded here, whatever the capacity.
  // That one is finished, or nobody writes to it; this one has no open spans beyond its own.
  void add(const Timeline& other);
  // Ignored for spans beyond the capacity. `key` is static text.
  void annotate(SpanId span, std::string_view key, AttributeValue value);

  // Fixes the wall time, now or at a given moment; later calls change nothing. Open spans end there, what was recorded
  // of a later time is cut, and end() does nothing any more.
  void finish();
  void finish_at(std::int64_t wall_ns);

  std::int64_t now_ns() const { return ns_at(std::chrono::steady_clock::now()); }
  // A moment as spans have it.
  std::int64_t ns_at(TimePoint moment) const;
  TimePoint start() const { return start_; }
  // Up to now while not finished.
  std::int64_t wall_ns() const { return wall_ns_.value_or(now_ns()); }
  // The time of a stage, a stage inside itself counted once.
  std::int64_t stage_ns(Stage stage) const;
  // Wall time that no top-level span covers: a remainder, never a measured span.
  std::int64_t unaccounted_ns() const;

  std::span<const Span> spans() const { return spans_; }
  std::span<const Attribute> attributes() const { return attributes_; }
  // Spans that only the totals know.
  std::size_t num_dropped_spans() const { return num_overflowed_; }
  // The time of those of a stage.
  std::int64_t dropped_ns(Stage stage) const { return overflow_stage_ns_[static_cast<std::size_t>(stage)]; }
  // The end of the span that ended last, of those that were recorded or have ended.
  std::int64_t last_end_ns() const { return last_end_ns_; }
  // All that were recorded, or begun and not dropped.
  std::size_t num_spans() const { return spans_.size() + num_overflowed_; }
  std::size_t size_bytes() const;

 private:
  Span& at(SpanId span);
  SpanId keep(const Span& span);
  void count_overflowed(const Span& span);
  void add_to_totals(const Span& span, std::int64_t sign);
  void keep_last();
  Stage stage_of(SpanId span) const;
  template <typename Wanted>
  std::vector<Interval> intervals_where(Wanted wanted) const;

  TimePoint start_;
  std::size_t capacity_;
  std::vector<Span> spans_;
  std::vector<Attribute> attributes_;
  std::optional<std::int64_t> wall_ns_;
  std::int64_t last_end_ns_ = 0;

  // Spans beyond the capacity that are still open; their ids follow on those of the kept ones.
  std::vector<Span> open_overflow_;
  std::vector<Span> last_overflow_;  // a ring of top-level ones; the totals have them until finish()
  std::size_t next_last_ = 0;
  std::size_t num_overflowed_ = 0;
  std::int64_t overflow_stage_ns_[kNumStages] = {};
  std::int64_t overflow_top_level_ns_ = 0;
};

// A span that ends with its scope.
class ScopedSpan {
 public:
  ScopedSpan(Timeline& timeline, Stage stage, SpanId parent = {}, std::string_view name = {})
      : timeline_(timeline), id_(timeline.begin(stage, parent, name)) {}
  ~ScopedSpan() { timeline_.end(id_); }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

  SpanId id() const { return id_; }
  void annotate(std::string_view key, AttributeValue value);

 private:
  Timeline& timeline_;
  SpanId id_;
};

}  // namespace vitrine::trace
