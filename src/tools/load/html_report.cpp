#include "tools/load/html_report.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plot/page.h"
#include "plot/picture.h"
#include "plot/plot.h"

namespace vitrine::tools {
namespace {

using plot::BarPlot;
using plot::short_number;

constexpr std::string_view kFoot = R"(<h2>What the figures mean</h2><dl>
<dt>TTFT</dt><dd>Time to first token: from the moment a request was due to its first text. What it waits to be sent counts as its own time, so a server that is too slow for the load can't hide it.</dd>
<dt>ITL</dt><dd>Inter-token latency: each gap between two pieces of text. Its 99th percentile is the stutter that a reader sees.</dd>
<dt>TPOT</dt><dd>Time per output token: a request's mean gap. Long gaps disappear in it.</dd>
<dt>E2E</dt><dd>From the moment a request was due to its end.</dd>
<dt>Goodput</dt><dd>The share of requests that kept the limits that were given.</dd></dl>
)";

double milliseconds(const std::optional<double>& seconds) {
  return seconds.value_or(0.0) * 1000.0;
}

template <typename Values>
BarPlot make_plot(const LoadPage& page, std::string title, std::vector<std::string> series, Values values) {
  BarPlot plot{std::move(title), std::move(series), {}, {}};
  for (const LoadPage::Row& row : page.rows) {
    plot.groups.push_back(row.load);
    plot.values.push_back(values(row.report));
  }
  return plot;
}

BarPlot percentile_plot(const LoadPage& page, std::string title, Percentiles LoadReport::*member) {
  return make_plot(page, std::move(title), {"p50", "p90", "p99"}, [member](const LoadReport& report) {
    const Percentiles& values = report.*member;
    return std::vector{milliseconds(values.p50), milliseconds(values.p90), milliseconds(values.p99)};
  });
}

std::string cell(const std::optional<double>& seconds) {
  return seconds ? short_number(*seconds * 1000.0) : "-";
}

std::vector<std::string> cells_of(const LoadPage::Row& row) {
  const LoadReport& report = row.report;
  return {row.load,
          std::to_string(report.num_requests),
          std::to_string(report.num_errors),
          short_number(report.output_tokens_per_s),
          short_number(report.prompt_tokens),
          short_number(report.cached_tokens),
          short_number(report.completion_tokens),
          cell(report.ttft_s.p50),
          cell(report.ttft_s.p99),
          cell(report.itl_s.p50),
          cell(report.itl_s.p99),
          cell(report.tpot_s.p50),
          cell(report.e2e_s.p50),
          report.goodput ? fmt::format("{:.0f} %", *report.goodput * 100.0) : "-"};
}

}  // namespace

std::string html_report(const LoadPage& page) {
  plot::Page written;
  written.title = "Load on " + page.url;
  written.notes = {page.model + ", " + page.when};
  written.figures = {
      plot::bar_svg(make_plot(page, "Tokens per second, all answers together", {"tokens/s"},
                              [](const LoadReport& report) { return std::vector{report.output_tokens_per_s}; })),
      plot::bar_svg(percentile_plot(page, "Time to first token, ms", &LoadReport::ttft_s)),
      plot::bar_svg(percentile_plot(page, "Gap between two pieces of text (ITL), ms", &LoadReport::itl_s)),
      plot::bar_svg(percentile_plot(page, "Mean gap per token of a request (TPOT), ms", &LoadReport::tpot_s))};
  written.columns = {"load",        "requests", "errors",     "tokens/s", "prompt",      "cached",     "answer",
                     "TTFT p50 ms", "p99",      "ITL p50 ms", "p99",      "TPOT p50 ms", "E2E p50 ms", "goodput"};
  for (const LoadPage::Row& row : page.rows)
    written.rows.push_back(cells_of(row));
  written.foot = kFoot;
  return plot::html(written);
}

}  // namespace vitrine::tools
