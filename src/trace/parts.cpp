#include "trace/parts.h"

#include <algorithm>
#include <numeric>

namespace vitrine::trace {
namespace {

std::int64_t overlap(Interval a, Interval b) {
  return std::max<std::int64_t>(0, std::min(a.end_ns, b.end_ns) - std::max(a.start_ns, b.start_ns));
}

// In the order of their beginnings.
std::vector<Span> top_level_spans(const Timeline& timeline) {
  std::vector<Span> spans;
  for (const Span& span : timeline.spans()) {
    if (span.parent == SpanId{}) spans.push_back(span);
  }
  std::ranges::stable_sort(spans, {}, [](const Span& span) { return span.time.start_ns; });
  return spans;
}

}  // namespace

void Parts::add(const Parts& other) {
  for (std::size_t i = 0; i < kNumStages; ++i)
    stage_ns[i] += other.stage_ns[i];
}

std::int64_t Parts::unaccounted_ns() const {
  return wall_ns - std::accumulate(stage_ns.begin(), stage_ns.end(), std::int64_t{0});
}

Parts parts_outside(const Timeline& timeline, Interval hole) {
  Parts parts{.wall_ns = timeline.wall_ns()};
  std::int64_t covered_until = 0;
  for (const Span& span : top_level_spans(timeline)) {
    const std::int64_t end_ns = span.time.end_ns == Span::kOpen ? parts.wall_ns : span.time.end_ns;
    const Interval rest{std::max(span.time.start_ns, covered_until), std::min(end_ns, parts.wall_ns)};
    if (rest.end_ns <= rest.start_ns) continue;
    parts.add(span.stage, rest.end_ns - rest.start_ns - overlap(rest, hole));
    covered_until = rest.end_ns;
  }
  if (hole.end_ns > hole.start_ns) return parts;
  for (std::size_t i = 0; i < kNumStages; ++i)
    parts.stage_ns[i] += timeline.dropped_ns(static_cast<Stage>(i));
  return parts;
}

Parts parts_of(const Timeline& timeline) {
  return parts_outside(timeline, {0, 0});
}

}  // namespace vitrine::trace
