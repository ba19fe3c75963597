#include "plan/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MemoryPlot some_plot(std::size_t available_bytes) {
  MemoryPlot plot{.title = "a <model>", .points = {}, .available_bytes = available_bytes};
  for (const std::size_t length : {512U, 1024U, 2048U}) {
    plot.points.push_back({.context_length = length,
                           .memory = {.weights = 1U << 30U, .kv_allocated = length << 19U, .other = 1U << 25U},
                           .copied_kv_bytes = static_cast<double>(length) * (1U << 21U)});
  }
  return plot;
}

TEST(MemoryPlot, NamesWhatItShowsAndEscapesTitles) {
  const std::string svg = memory_svg(some_plot(std::size_t{2} << 30U));
  for (const char* text : {"weights", "KV cache", "a &lt;model&gt;", "2,048", "available 2 GiB", "xmlns="})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, Not(HasSubstr("<model>")));
}

TEST(MemoryPlot, LeavesOutALimitThatIsFarAway) {
  EXPECT_THAT(memory_svg(some_plot(std::size_t{1} << 40U)), Not(HasSubstr("available")));
}

TEST(PlanPage, HoldsNotesPlotsAndTable) {
  const std::string html = plan_html({.title = "Memory of <x>",
                                      .notes = {"A note."},
                                      .plots = {some_plot(1U << 30U)},
                                      .columns = {"CONTEXT"},
                                      .rows = {{"4,096"}}});
  for (const char* text : {"<p>A note.</p>", "<svg", "<th>CONTEXT</th>", "<td>4,096</td>", "Memory of &lt;x&gt;"})
    EXPECT_THAT(html, HasSubstr(text));
  EXPECT_THAT(html, Not(HasSubstr("http://localhost")));
}

}  // namespace
}  // namespace vitrine::plan
