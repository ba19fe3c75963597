#include "tools/lab/report.h"

#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_data.h"
#include "tools/lab/lab.h"
#include "tools/lab/lab_bench.h"
#include "tools/lab/spread.h"

namespace vitrine::lab {
namespace {

using ::testing::ElementsAre;

TEST(Spread, IsMedianAndMiddleHalf) {
  const Spread spread = spread_of(std::vector<double>{5, 1, 2, 4, 3});
  EXPECT_DOUBLE_EQ(spread.median, 3);
  EXPECT_DOUBLE_EQ(spread.low, 2);
  EXPECT_DOUBLE_EQ(spread.high, 4);
  EXPECT_EQ(spread.num_runs, 5U);
}

TEST(Spread, OfARatioIsTakenRunByRun) {
  const Spread ratio = ratio_of(std::vector<double>{2, 20, 6}, std::vector<double>{1, 10, 3});
  EXPECT_DOUBLE_EQ(ratio.low, 2);
  EXPECT_DOUBLE_EQ(ratio.high, 2) << "a machine that slows both alike changes nothing";
}

TEST(Comparison, NeedsRunsThatAgree) {
  EXPECT_EQ(compare(clear(1.5)), Comparison::kMore);
  EXPECT_EQ(compare(clear(0.5)), Comparison::kLess);
  EXPECT_EQ(compare(clear(1.0)), Comparison::kSame);
  EXPECT_EQ(compare(vague(1.5)), Comparison::kUnclear);
  EXPECT_EQ(compare({.median = 5, .low = 5, .high = 5, .num_runs = 2}), Comparison::kUnclear);
  EXPECT_EQ(compare({.median = 1.2, .low = 1.04, .high = 1.3, .num_runs = 5}), Comparison::kMore);
  EXPECT_EQ(compare({.median = 1.2, .low = 0.9, .high = 1.3, .num_runs = 5}), Comparison::kUnclear);
}

TEST(Times, TellsAsManyDigitsAsCount) {
  EXPECT_EQ(times(0.3412), "0.34x");
  EXPECT_EQ(times(2.14), "2.1x");
  EXPECT_EQ(times(97.4), "97x");
  EXPECT_EQ(times(Spread{.median = 2.1, .low = 1.8, .high = 2.6, .num_runs = 5}), "2.1x (1.8 to 2.6)");
  EXPECT_EQ(times(Spread{.median = 2.1, .low = 2.09, .high = 2.11, .num_runs = 5}), "2.1x");
}

TEST(Cell, ShowsNumbersByTheirColumn) {
  const Json row = {{"n", 4096U}, {"s", 0.01234}, {"t", "text"}, {"b", true}, {"none", nullptr}, {"x", 3U}};
  EXPECT_EQ(cell_of(row, {"n", "N"}), "4,096");
  EXPECT_EQ(cell_of(row, {"s", "S", 1, 1e3}), "12.3");
  EXPECT_EQ(cell_of(row, {"t", "T"}), "text");
  EXPECT_EQ(cell_of(row, {"b", "B"}), "yes");
  EXPECT_EQ(cell_of(row, {"none", ""}), "-");
  EXPECT_EQ(cell_of(row, {"absent", ""}), "-");
  EXPECT_EQ(cell_of(row, {"x", "X", 1, 0.5}), "1.5");
}

TEST(Markdown, KeepsItsColumnsWhateverTheCells) {
  Report report;
  report.name = "a-lab";
  report.title = "A lab";
  report.columns = {{"a", "A"}, {"b", "B"}};
  report.rows = Json::array({{{"a", "x|y\nz"}, {"b", 1U}}});
  report.plots = {"", ""};
  const std::string text = to_markdown(report, {"m", "2025-03-14"});
  EXPECT_THAT(text, ::testing::HasSubstr("| A | B |\n|---|---:|\n| x\\|y z | 1 |\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("(<a-lab-2.svg>)"));
}

TEST(Rounds, AlternateTheirCases) {
  TinyBench tiny;
  std::vector<std::size_t> order;
  std::vector<double> shares;
  tiny.bench().progress = [&](double share) { shares.push_back(share); };
  EXPECT_EQ(run_rounds(tiny.bench(), {.fewest = 1, .most = 2}, 3, [&](std::size_t i) { order.push_back(i); }), 2U);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 2, 1, 0));
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_DOUBLE_EQ(shares.back(), 1.0);
}

TEST(Rounds, EndWithTheirBudgetButNotBeforeTheFewest) {
  TinyBench tiny;
  const Rounds spent{.fewest = 3, .most = 9, .budget_s = 0.0, .limit_s = 1e9};
  EXPECT_EQ(run_rounds(tiny.bench(), spent, 1, [](std::size_t) {}), 3U);
  const Rounds over{.fewest = 3, .most = 9, .budget_s = 0.0, .limit_s = 0.0};
  EXPECT_EQ(run_rounds(tiny.bench(), over, 1, [](std::size_t) {}), 1U);
}

TEST(Rounds, StopWhenTold) {
  TinyBench tiny;
  const std::atomic<bool> stop = true;
  tiny.bench().stop = &stop;
  try {
    run_rounds(tiny.bench(), {}, 1, [](std::size_t) { FAIL() << "it was stopped"; });
    FAIL() << "it went on";
  } catch (const base::Exception& exception) {
    EXPECT_EQ(exception.error().kind, base::ErrorKind::kInterrupted);
  }
}

TEST(Labs, AreFoundByName) {
  for (const Lab& item : labs()) {
    ASSERT_NE(find_lab(item.name), nullptr);
    EXPECT_EQ(find_lab(item.name)->run, item.run);
  }
  EXPECT_EQ(find_lab("no-such-lab"), nullptr);
}

TEST(Labs, EachGivesAWholeReportOfASmallModel) {
  TinyBench tiny;
  for (const Lab& item : labs()) {
    SCOPED_TRACE(std::string(item.name));
    const Report report = item.run(tiny.bench());
    EXPECT_EQ(report.name, item.name);
    expect_whole(report);
    testing::count_cases("labs", 1);
  }
}

}  // namespace
}  // namespace vitrine::lab
