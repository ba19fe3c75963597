#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_data.h"
#include "tools/load/html_report.h"
#include "tools/load/load_report.h"
#include "tools/load/prompts.h"
#include "tools/load/sse_reader.h"

namespace vitrine::tools {
namespace {

using ::testing::ElementsAre;
using Events = std::vector<std::string>;

// The events of these bytes, which must not depend on where they are cut in two.
Events events_of(const std::string& bytes) {
  const Events whole = SseReader().feed(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    SseReader reader;
    Events events = reader.feed(bytes.substr(0, cut));
    const Events rest = reader.feed(bytes.substr(cut));
    events.insert(events.end(), rest.begin(), rest.end());
    EXPECT_EQ(events, whole) << "cut at " << cut;
  }
  return whole;
}

// bug062: every event ends with an empty line of its own.
TEST(SseReader, EventsEndWithAnEmptyLine_bug062) {
  EXPECT_EQ(events_of("data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n"),
            (Events{"{\"a\":1}", "{\"b\":2}", "[DONE]"}));
  testing::count_cases("bugs", 1);
}

// bug064: vertical tab, form feed and file separator do not end a line.
TEST(SseReader, OnlyLineEndsEndALine_bug064) {
  EXPECT_EQ(events_of("data: x\vy\fz\x1c\n\n"), (Events{"x\vy\fz\x1c"}));
  testing::count_cases("bugs", 1);
}

TEST(SseReader, LinesMayEndInCrOrBoth) {
  EXPECT_EQ(events_of("data: a\r\rdata: b\r\n\r\ndata: c\n\n"), (Events{"a", "b", "c"}));
}

TEST(SseReader, SeveralDataLinesAreOneEventAndOtherFieldsNone) {
  EXPECT_EQ(events_of(": a comment\n\nevent: x\nid: 7\ndata:one\ndata:  two\ndata\n\nretry: 5\n\n"),
            (Events{"one\n two\n"}));
  EXPECT_EQ(events_of("data: never ended\n"), Events{});
}

LoadOutcome outcome(double start_s, std::vector<double> piece_times_s, std::size_t tokens) {
  LoadOutcome result;
  result.start_s = start_s;
  result.end_s = piece_times_s.empty() ? start_s : piece_times_s.back();
  result.piece_times_s = std::move(piece_times_s);
  result.completion_tokens = tokens;
  return result;
}

TEST(LoadReport, ItlIsEachGapAndTpotTheMeanPerToken) {
  const std::vector<LoadOutcome> outcomes = {outcome(1.0, {1.5, 1.6, 2.0}, 6)};
  const LoadReport report = summarise_load(outcomes, {});
  EXPECT_DOUBLE_EQ(*report.ttft_s.p50, 0.5);
  EXPECT_NEAR(*report.itl_s.p50, 0.25, 1e-9);
  EXPECT_NEAR(*report.tpot_s.p50, 0.1, 1e-9) << "six tokens came in three pieces";
  EXPECT_NEAR(report.output_tokens_per_s, 3.0, 1e-9);
  EXPECT_FALSE(report.goodput);
}

TEST(LoadReport, ErrorsCountAsSuchAndInNothingElse) {
  std::vector<LoadOutcome> outcomes = {outcome(0.0, {0.1, 0.2}, 2), outcome(0.0, {}, 0)};
  outcomes[1].error = "status 500";
  const LoadReport report = summarise_load(outcomes, {.ttft_s = 1.0, .tpot_s = {}});
  EXPECT_EQ(report.num_errors, 1U);
  EXPECT_EQ(report.first_error, "status 500");
  EXPECT_DOUBLE_EQ(report.completion_tokens, 2.0);
  EXPECT_DOUBLE_EQ(*report.goodput, 0.5);
}

TEST(LoadReport, GoodputCountsWhatKeepsBothLimits) {
  const std::vector<LoadOutcome> outcomes = {outcome(0.0, {0.1, 0.2}, 2), outcome(0.0, {0.5, 0.6}, 2),
                                             outcome(0.0, {0.1, 0.9}, 2)};
  EXPECT_NEAR(*summarise_load(outcomes, {.ttft_s = 0.3, .tpot_s = 0.3}).goodput, 1.0 / 3.0, 1e-9);
}

TEST(LoadReport, NothingAtAllIsNoReason) {
  EXPECT_FALSE(summarise_load({}, {}).ttft_s.p50);
}

TEST(Poisson, ArrivalsRiseAndHaveTheirRate) {
  const std::vector<double> starts = poisson_starts(20'000, 50.0, 1);
  EXPECT_TRUE(std::ranges::is_sorted(starts));
  EXPECT_NEAR(starts.back(), 400.0, 12.0);
  EXPECT_EQ(starts, poisson_starts(20'000, 50.0, 1));
}

TEST(SyntheticPrompts, ShareTheirBeginningAndNothingElse) {
  const std::vector<std::string> prompts = synthetic_prompts(50, 30, 10, 1);
  const auto num_words = [](const std::string& text) { return 1 + std::ranges::count(text, ' '); };
  std::set<std::string> starts;
  for (const std::string& prompt : prompts) {
    EXPECT_EQ(num_words(prompt), 30);
    std::size_t end = 0;
    for (int i = 0; i < 10; ++i)
      end = prompt.find(' ', end + 1);
    starts.insert(prompt.substr(0, end));
  }
  EXPECT_EQ(starts.size(), 1U);
  EXPECT_EQ(std::set<std::string>(prompts.begin(), prompts.end()).size(), 50U);
  EXPECT_EQ(prompts, synthetic_prompts(50, 30, 10, 1));
}

TEST(HtmlReport, HasPlotsAndFiguresOfEachLoadAndNothingOfTheEndpointsOwn) {
  LoadReport quick;
  quick.num_requests = 8;
  quick.output_tokens_per_s = 75.5;
  quick.ttft_s = {.p50 = 0.25, .p90 = 0.5, .p99 = 1.5};
  const std::string page = html_report({.url = "http://host/?a=<b>&\"c\"",
                                        .model = "<script>",
                                        .when = "2025-03-14",
                                        .rows = {{"1 at once", quick}, {"8 at once", {}}}});
  EXPECT_THAT(page, ::testing::HasSubstr("http://host/?a=&lt;b&gt;&amp;&quot;c&quot;"));
  EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr("<script>")));
  EXPECT_THAT(page, ::testing::HasSubstr("<td>8</td><td>0</td><td>75.5</td>"));
  EXPECT_THAT(page, ::testing::HasSubstr("<title>1 at once p99: 1500</title>"));
  EXPECT_THAT(page, ::testing::HasSubstr("8 at once"));
  EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr("nan")));
}

}  // namespace
}  // namespace vitrine::tools
