#include "trace/timeline.h"

#include <thread>

#include <gtest/gtest.h>

namespace vitrine::trace {
namespace {

std::int64_t length_of_union(std::vector<Interval> intervals, std::int64_t end_ns) {
  return union_length(intervals, end_ns);
}

TEST(UnionLength, CountsOverlapsOnceInAnyOrder) {
  EXPECT_EQ(length_of_union({}, 100), 0);
  EXPECT_EQ(length_of_union({{10, 20}, {30, 40}}, 100), 20);
  EXPECT_EQ(length_of_union({{15, 30}, {10, 20}}, 100), 20);
  EXPECT_EQ(length_of_union({{2, 3}, {0, 10}}, 100), 10);
  EXPECT_EQ(length_of_union({{0, 10}, {10, 20}}, 100), 20);
}

TEST(UnionLength, CutsAtBothEnds) {
  EXPECT_EQ(length_of_union({{-50, 10}, {90, 500}}, 100), 20);
}

TEST(Timeline, PartsAndRemainderSumToTheWallTime) {
  Timeline timeline;
  timeline.record(Stage::kTokenize, {0, 10});
  timeline.record(Stage::kPrefill, {15, 60});
  timeline.record(Stage::kDecode, {60, 90});
  timeline.finish_at(100);
  std::int64_t sum = timeline.unaccounted_ns();
  for (std::size_t i = 0; i < kNumStages; ++i)
    sum += timeline.stage_ns(static_cast<Stage>(i));
  EXPECT_EQ(sum, 100);
  EXPECT_EQ(timeline.unaccounted_ns(), 15);
}

TEST(Timeline, NestedSpansDoNotCountTwiceAgainstTheWall) {
  Timeline timeline;
  const SpanId prefill = timeline.record(Stage::kPrefill, {0, 80});
  timeline.record(Stage::kLayer, {0, 30}, prefill, "layer 0");
  timeline.record(Stage::kLayer, {30, 70}, prefill, "layer 1");
  timeline.finish_at(100);
  EXPECT_EQ(timeline.unaccounted_ns(), 20);
  EXPECT_EQ(timeline.stage_ns(Stage::kLayer), 70);
}

TEST(Timeline, OverlappingTopLevelSpansAreMerged) {
  Timeline timeline;
  timeline.record(Stage::kQueue, {0, 50});
  timeline.record(Stage::kTokenize, {20, 70});
  timeline.finish_at(100);
  EXPECT_EQ(timeline.unaccounted_ns(), 30);
}

TEST(Timeline, AStageInsideItselfCountsOnce) {
  Timeline timeline;
  const SpanId outer = timeline.record(Stage::kOp, {0, 50});
  timeline.record(Stage::kOp, {10, 20}, outer);
  timeline.finish_at(50);
  EXPECT_EQ(timeline.stage_ns(Stage::kOp), 50);
}

TEST(Timeline, MeasuredSpansLieInTheWallTimeAndNest) {
  Timeline timeline;
  {
    ScopedSpan outer(timeline, Stage::kPrefill);
    outer.annotate("tokens", std::int64_t{5});
    ScopedSpan inner(timeline, Stage::kLayer, outer.id(), "layer 0");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  timeline.finish();
  ASSERT_EQ(timeline.spans().size(), 2U);
  const Span& outer = timeline.spans()[0];
  const Span& inner = timeline.spans()[1];
  EXPECT_EQ(outer.name, "prefill");
  EXPECT_EQ(inner.name, "layer 0");
  EXPECT_EQ(inner.parent.index, 0U);
  EXPECT_GE(inner.time.start_ns, outer.time.start_ns);
  EXPECT_LE(inner.time.end_ns, outer.time.end_ns);
  EXPECT_GE(inner.time.end_ns - inner.time.start_ns, 2000000);
  EXPECT_LE(outer.time.end_ns, timeline.wall_ns());
  EXPECT_EQ(timeline.stage_ns(Stage::kPrefill) + timeline.unaccounted_ns(), timeline.wall_ns());
}

TEST(Timeline, AnotherTimelineIsAddedAtTheTimesAtWhichItHappened) {
  Timeline whole;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  Timeline part(2);
  const SpanId outer = part.record(Stage::kPrefill, {10, 50});
  part.record(Stage::kLayer, {20, 30}, outer, "layer 0");
  part.record(Stage::kDecode, {50, 60});  // beyond its capacity
  part.annotate(outer, "tokens", std::int64_t{5});
  whole.record(Stage::kQueue, {0, 10});
  whole.add(part);
  ASSERT_EQ(whole.spans().size(), 3U);
  const Span& prefill = whole.spans()[1];
  EXPECT_GE(prefill.time.start_ns, 2000000);
  EXPECT_EQ(prefill.time.end_ns - prefill.time.start_ns, 40);
  EXPECT_EQ(whole.spans()[2].parent.index, 1U);
  EXPECT_EQ(whole.attributes()[0].span.index, 1U);
  EXPECT_EQ(whole.num_dropped_spans(), 1U);
  whole.finish();
  EXPECT_EQ(whole.stage_ns(Stage::kDecode), 10);
}

TEST(Timeline, FinishingClosesOpenSpansAndHolds) {
  Timeline timeline(1);
  const SpanId open = timeline.begin(Stage::kDecode);
  timeline.begin(Stage::kSample);  // beyond the capacity
  timeline.finish();
  const std::int64_t wall = timeline.wall_ns();
  ASSERT_EQ(timeline.spans().size(), 2U);
  EXPECT_EQ(timeline.spans()[0].time.end_ns, wall);
  EXPECT_EQ(timeline.spans()[1].time.end_ns, wall);
  timeline.end(open);
  EXPECT_EQ(timeline.spans()[0].time.end_ns, wall);
  timeline.finish();
  EXPECT_EQ(timeline.wall_ns(), wall);
}

TEST(Timeline, SpansBeyondTheCapacityStillCountInTheTotals) {
  Timeline timeline(2);
  constexpr std::int64_t kNumSpans = 5 + static_cast<std::int64_t>(Timeline::kNumLast);
  for (std::int64_t i = 0; i < kNumSpans; ++i)
    timeline.record(Stage::kDecode, {10 * i, 10 * i + 10});
  EXPECT_EQ(timeline.num_spans(), kNumSpans);
  timeline.finish_at(10 * kNumSpans + 10);
  EXPECT_EQ(timeline.num_dropped_spans(), 3U);
  EXPECT_EQ(timeline.dropped_ns(Stage::kDecode), 30);
  EXPECT_EQ(timeline.stage_ns(Stage::kDecode), 10 * kNumSpans);
  EXPECT_EQ(timeline.unaccounted_ns(), 10);
}

TEST(Timeline, KeepsTheFirstSpansAndTheLast) {
  Timeline timeline(2);
  for (std::int64_t i = 0; i < 100; ++i)
    timeline.record(Stage::kDecode, {i, i + 1});
  timeline.finish_at(100);
  ASSERT_EQ(timeline.spans().size(), 2 + Timeline::kNumLast);
  EXPECT_EQ(timeline.spans()[1].time.start_ns, 1);
  for (std::size_t i = 0; i < Timeline::kNumLast; ++i)
    EXPECT_EQ(timeline.spans()[2 + i].time.start_ns, 100 - static_cast<std::int64_t>(Timeline::kNumLast - i));
}

TEST(Timeline, NothingLiesBehindItsEnd) {
  Timeline timeline;
  timeline.record(Stage::kDecode, {10, 30});
  timeline.record(Stage::kSample, {40, 50});
  timeline.finish_at(20);
  EXPECT_EQ(timeline.stage_ns(Stage::kDecode), 10);
  EXPECT_EQ(timeline.stage_ns(Stage::kSample), 0);
  for (const Span& span : timeline.spans())
    EXPECT_LE(span.time.end_ns, 20);
}

TEST(Timeline, CanHaveBegunBeforeItWasMade) {
  const auto start = std::chrono::steady_clock::now() - std::chrono::seconds(5);
  const Timeline timeline(4, start);
  EXPECT_GE(timeline.now_ns(), 5'000'000'000);
  EXPECT_EQ(timeline.ns_at(start + std::chrono::microseconds(3)), 3'000);
}

TEST(Timeline, MeasuredSpansBeyondTheCapacityEndInAnyOrder) {
  Timeline timeline(0);
  const SpanId first = timeline.begin(Stage::kDecode);
  const SpanId second = timeline.begin(Stage::kDecode, first);
  timeline.annotate(second, "ignored", 1.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  timeline.end(first);
  timeline.end(second);
  EXPECT_EQ(timeline.num_dropped_spans(), 2U);
  timeline.finish();
  EXPECT_EQ(timeline.num_dropped_spans(), 1U);  // the one within the other
  EXPECT_GE(timeline.stage_ns(Stage::kDecode), 1000000);
  EXPECT_LE(timeline.stage_ns(Stage::kDecode), timeline.wall_ns());
  EXPECT_TRUE(timeline.attributes().empty());
}

}  // namespace
}  // namespace vitrine::trace
