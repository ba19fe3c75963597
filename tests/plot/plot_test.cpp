#include "plot/plot.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plot/page.h"
#include "plot/picture.h"
#include "support/well_formed.h"

namespace vitrine::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using vitrine::testing::xml_fault;

TEST(BarPlot, HasABarForEachValueThatCanBeDrawn) {
  const std::string svg = bar_svg({.title = "a <b>",
                                   .series = {"first", "second"},
                                   .groups = {"one & only"},
                                   .values = {{2.5, std::numeric_limits<double>::quiet_NaN()}}});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("one &amp; only first: 2.5"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("second: ")));
}

TEST(BarPlot, OfNothingIsStillAPicture) {
  EXPECT_EQ(xml_fault(bar_svg({.title = "", .series = {"a"}, .groups = {}, .values = {}})), "");
  EXPECT_EQ(xml_fault(bar_svg({.title = "", .series = {"a"}, .groups = {"x"}, .values = {{0.0}}})), "");
}

TEST(LinePlot, LeavesOutWhatItsAxesCantShow) {
  const std::string svg = line_svg({.title = "t",
                                    .x = {"tokens", Scale::kLog},
                                    .y = {"seconds", Scale::kLog},
                                    .series = {{.name = "s", .points = {{0, 1}, {10, 0}, {10, 4}, {100, INFINITY}}}}});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("s at 10: 4"));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlot, OfOnePointOrNoneIsStillAPicture) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    for (const auto& points : {std::vector<std::pair<double, double>>{}, {{3, 3}}, {{0, 0}}}) {
      const std::string svg =
          line_svg({.title = "t", .x = {"x", scale}, .y = {"y", scale}, .series = {{.name = "s", .points = points}}});
      EXPECT_EQ(xml_fault(svg), "");
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
    }
  }
}

TEST(LinePlot, RisesFromLeftToRightAndBottomToTop) {
  const std::string svg = line_svg({.title = "t",
                                    .x = {"x"},
                                    .y = {"y"},
                                    .series = {{.name = "s", .points = {{0, 0}, {5, 5}}, .has_marks = false}}});
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,308.0 764.0,"));
}

TEST(Page, HoldsNotesFiguresAndTableAndEscapesThem) {
  const std::string page = html({.title = "T <x>",
                                 .notes = {"a & b"},
                                 .figures = {"<svg></svg>"},
                                 .columns = {"<c>"},
                                 .rows = {{"1"}, {"<2>"}},
                                 .foot = "<p>end</p>\n"});
  for (const char* text : {"T &lt;x&gt;", "<p>a &amp; b</p>", "<figure><svg></svg></figure>", "<th>&lt;c&gt;</th>",
                           "<td>&lt;2&gt;</td>", "<p>end</p>"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(ShortNumber, HasThreeDigitsThatCount) {
  EXPECT_EQ(short_number(0.012345), "0.0123");
  EXPECT_EQ(short_number(12.345), "12.3");
  EXPECT_EQ(short_number(1234.5), "1234");
}

}  // namespace
}  // namespace vitrine::plot
