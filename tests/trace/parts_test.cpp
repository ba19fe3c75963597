#include "trace/parts.h"

#include <numeric>

#include <gtest/gtest.h>

namespace vitrine::trace {
namespace {

std::int64_t part(const Parts& parts, Stage stage) {
  return parts.stage_ns[static_cast<std::size_t>(stage)];
}

TEST(Parts, SumToTheWallTimeWithWhatLiesInNoSpan) {
  Timeline timeline;
  timeline.record(Stage::kTokenize, {0, 10});
  timeline.record(Stage::kPrefill, {15, 60});
  timeline.finish_at(100);
  const Parts parts = parts_of(timeline);
  EXPECT_EQ(part(parts, Stage::kTokenize), 10);
  EXPECT_EQ(part(parts, Stage::kPrefill), 45);
  EXPECT_EQ(parts.unaccounted_ns(), 45);
  EXPECT_EQ(parts.wall_ns, 100);
}

TEST(Parts, WhereSpansOverlapTheTimeIsTheFirstOnes) {
  Timeline timeline;
  timeline.record(Stage::kSocket, {40, 90});
  timeline.record(Stage::kOther, {30, 60});
  timeline.record(Stage::kSample, {50, 55});
  timeline.finish_at(100);
  const Parts parts = parts_of(timeline);
  EXPECT_EQ(part(parts, Stage::kOther), 30);
  EXPECT_EQ(part(parts, Stage::kSocket), 30);
  EXPECT_EQ(part(parts, Stage::kSample), 0);
  EXPECT_EQ(parts.unaccounted_ns(), 40);
}

TEST(Parts, NestedSpansAreNoPartsOfTheirOwn) {
  Timeline timeline;
  const SpanId prefill = timeline.record(Stage::kPrefill, {0, 80});
  timeline.record(Stage::kLayer, {0, 30}, prefill);
  timeline.finish_at(80);
  EXPECT_EQ(part(parts_of(timeline), Stage::kLayer), 0);
  EXPECT_EQ(parts_of(timeline).unaccounted_ns(), 0);
}

TEST(Parts, LeaveAHoleForAnother) {
  Timeline timeline;
  timeline.record(Stage::kTokenize, {0, 30});
  timeline.record(Stage::kSocket, {30, 40});
  timeline.record(Stage::kSocket, {60, 90});
  timeline.finish_at(100);
  Parts parts = parts_outside(timeline, {20, 70});
  EXPECT_EQ(part(parts, Stage::kTokenize), 20);
  EXPECT_EQ(part(parts, Stage::kSocket), 20);
  Parts engine{.wall_ns = 50};
  engine.add(Stage::kDecode, 48);
  parts.add(engine);
  EXPECT_EQ(parts.unaccounted_ns(), 12);
  EXPECT_EQ(parts.wall_ns, 100);
}

TEST(Parts, DroppedSpansCountWhereThereIsNoHoleForThem) {
  Timeline timeline(0);
  for (std::int64_t i = 0; i < 100; ++i)
    timeline.record(Stage::kDecode, {i, i + 1});
  timeline.finish_at(100);
  EXPECT_GT(timeline.num_dropped_spans(), 0U);
  EXPECT_EQ(parts_of(timeline).unaccounted_ns(), 0);
  EXPECT_EQ(part(parts_outside(timeline, {0, 100}), Stage::kDecode), 0);
}

}  // namespace
}  // namespace vitrine::trace
