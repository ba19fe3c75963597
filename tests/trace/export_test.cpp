#include "trace/export.h"

#include <gtest/gtest.h>

namespace vitrine::trace {
namespace {

Timeline example() {
  Timeline timeline;
  const SpanId prefill = timeline.record(Stage::kPrefill, {1'000'000'000, 3'000'000'000});
  const SpanId layer = timeline.record(Stage::kLayer, {1'000'000'000, 2'000'000'000}, prefill, "layer \"0\"");
  timeline.annotate(prefill, "tokens", std::int64_t{7});
  timeline.annotate(layer, "gb_per_s", 12.5);
  timeline.annotate(layer, "piece", std::string("\xff\n"));
  timeline.finish_at(4'000'000'000);
  return timeline;
}

TEST(Export, JsonHasSpansWithParentsAttributesAndWallTime) {
  const nlohmann::json document = to_json(example());
  EXPECT_EQ(document["wall_s"], 4.0);
  EXPECT_EQ(document["unaccounted_s"], 2.0);
  EXPECT_EQ(document["stages"]["layer"], 1.0);
  const nlohmann::json& spans = document["spans"];
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0]["name"], "prefill");
  EXPECT_EQ(spans[0]["start_s"], 1.0);
  EXPECT_EQ(spans[0]["end_s"], 3.0);
  EXPECT_TRUE(spans[0]["parent"].is_null());
  EXPECT_EQ(spans[0]["attributes"]["tokens"], 7);
  EXPECT_EQ(spans[1]["parent"], 0);
  EXPECT_EQ(spans[1]["attributes"]["gb_per_s"], 12.5);
}

TEST(Export, AnEmptyTimelineIsStillADocument) {
  Timeline timeline;
  timeline.finish_at(5);
  EXPECT_TRUE(to_json(timeline)["spans"].is_array());
  EXPECT_TRUE(nlohmann::json::parse(to_chrome_trace(timeline))["traceEvents"].empty());
}

TEST(Export, ChromeTraceParsesAndHasCompleteEventsInMicroseconds) {
  const nlohmann::json document = nlohmann::json::parse(to_chrome_trace(example()));
  const nlohmann::json& events = document["traceEvents"];
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1]["ph"], "X");
  EXPECT_EQ(events[1]["name"], "layer \"0\"");
  EXPECT_EQ(events[1]["ts"], 1e6);
  EXPECT_EQ(events[1]["dur"], 1e6);
  EXPECT_EQ(events[0]["args"]["tokens"], 7);
}

TEST(Export, ASpanOfADroppedParentHasNoParent) {
  Timeline timeline(1);
  timeline.begin(Stage::kLayer, SpanId{99});
  timeline.finish();
  EXPECT_TRUE(to_json(timeline)["spans"][0]["parent"].is_null());
}

}  // namespace
}  // namespace vitrine::trace
