#include "tools/load/html_report.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/escape_html.h"

namespace vitrine::tools {
namespace {

using base::escape_html;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Load on {0}</title><style>
:root {{ color-scheme: light dark; --ink: #1b1f24; --paper: #fbfaf7; --line: #d6d3ca; --a: #173f9c; --b: #4f91e3; --c: #dd6c14 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e8e6e1; --paper: #14171a; --line: #3a3f45; --a: #a6cdf2; --b: #2f63e0; --c: #cb673c }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }}
th, td {{ text-align: right; padding: .3rem .5rem; border-bottom: 1px solid var(--line) }}
th:first-child, td:first-child {{ text-align: left }}
.scroll {{ overflow-x: auto }} figure {{ margin: 1.5rem 0 }} figcaption {{ font-weight: 600 }}
svg {{ width: 100%; height: auto }} svg text {{ fill: var(--ink); font: 12px system-ui, sans-serif }}
.k0 {{ fill: var(--a) }} .k1 {{ fill: var(--b) }} .k2 {{ fill: var(--c) }} svg line {{ stroke: var(--line) }}
</style></head><body>
<h1>Load on {0}</h1><p>{1}, {2}</p>
)";

constexpr std::string_view kFoot = R"(<h2>What the figures mean</h2><dl>
<dt>TTFT</dt><dd>Time to first token: from the moment a request was due to its first text. What it waits to be sent counts as its own time, so a server that is too slow for the load can't hide it.</dd>
<dt>ITL</dt><dd>Inter-token latency: each gap between two pieces of text. Its 99th percentile is the stutter that a reader sees.</dd>
<dt>TPOT</dt><dd>Time per output token: a request's mean gap. Long gaps disappear in it.</dd>
<dt>E2E</dt><dd>From the moment a request was due to its end.</dd>
<dt>Goodput</dt><dd>The share of requests that kept the limits that were given.</dd></dl>
</body></html>
)";

// The plot's sizes, in the units of its own picture.
constexpr double kWidth = 800;
constexpr double kHeight = 220;
constexpr double kLeft = 60;
constexpr double kBottom = 30;
constexpr double kTop = 24;

// Bars side by side for each load, a colour for each series.
struct Plot {
  std::string title;
  std::vector<std::string> series;
  std::vector<std::string> loads;
  std::vector<std::vector<double>> values;  // [load][series]
};

double highest(const Plot& plot) {
  double most = 0.0;
  for (const auto& values : plot.values)
    most = std::max(most, *std::ranges::max_element(values));
  return most > 0.0 ? most : 1.0;
}

std::string number(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string bars_of(const Plot& plot, std::size_t load, double left, double width, double scale) {
  std::string svg;
  const auto num_series = static_cast<double>(plot.series.size());
  const double bar = 0.8 * width / num_series;
  for (std::size_t series = 0; series < plot.series.size(); ++series) {
    const double value = plot.values[load][series];
    const double x = left + 0.1 * width + bar * static_cast<double>(series);
    const double y = kHeight - kBottom - value * scale;
    svg += fmt::format(
        R"(<rect class="k{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{} {}: {}</title></rect>)",
        series, x, y, 0.9 * bar, value * scale, escape_html(plot.loads[load]), plot.series[series], number(value));
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x + 0.45 * bar, y - 4,
                       number(value));
  }
  svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", left + width / 2, kHeight - 8,
                     escape_html(plot.loads[load]));
  return svg;
}

std::string legend(const Plot& plot) {
  if (plot.series.size() < 2) return "";
  std::string svg;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const double x = kLeft + 70 * static_cast<double>(i);
    svg += fmt::format(R"(<rect class="k{}" x="{}" y="2" width="10" height="10"/><text x="{}" y="12">{}</text>)", i, x,
                       x + 14, plot.series[i]);
  }
  return svg;
}

std::string draw(const Plot& plot) {
  const double scale = (kHeight - kBottom - kTop - 16) / highest(plot);
  const double width = (kWidth - kLeft) / static_cast<double>(plot.loads.size());
  std::string svg = legend(plot);
  for (std::size_t load = 0; load < plot.loads.size(); ++load)
    svg += bars_of(plot, load, kLeft + width * static_cast<double>(load), width, scale);
  return fmt::format(
      R"(<figure><figcaption>{0}</figcaption><svg viewBox="0 0 {1} {2}" role="img" aria-label="{0}"><line x1="{3}" y1="{4}" x2="{1}" y2="{4}"/>{5}</svg></figure>
)",
      plot.title, kWidth, kHeight, kLeft, kHeight - kBottom, svg);
}

double milliseconds(const std::optional<double>& seconds) {
  return seconds.value_or(0.0) * 1000.0;
}

template <typename Values>
Plot make_plot(const LoadPage& page, std::string title, std::vector<std::string> series, Values values) {
  Plot plot{std::move(title), std::move(series), {}, {}};
  for (const LoadPage::Row& row : page.rows) {
    plot.loads.push_back(row.load);
    plot.values.push_back(values(row.report));
  }
  return plot;
}

Plot percentile_plot(const LoadPage& page, std::string title, Percentiles LoadReport::*member) {
  return make_plot(page, std::move(title), {"p50", "p90", "p99"}, [member](const LoadReport& report) {
    const Percentiles& values = report.*member;
    return std::vector{milliseconds(values.p50), milliseconds(values.p90), milliseconds(values.p99)};
  });
}

std::string cell(const std::optional<double>& seconds) {
  return seconds ? number(*seconds * 1000.0) : "-";
}

std::string table(const LoadPage& page) {
  std::string html =
      R"(<h2>Figures</h2><div class="scroll"><table><thead><tr><th>load</th><th>requests</th><th>errors</th><th>tokens/s</th><th>prompt</th><th>cached</th><th>answer</th><th>TTFT p50 ms</th><th>p99</th><th>ITL p50 ms</th><th>p99</th><th>TPOT p50 ms</th><th>E2E p50 ms</th><th>goodput</th></tr></thead><tbody>
)";
  for (const auto& [load, report] : page.rows) {
    html += fmt::format("<tr><td>{}</td>", escape_html(load));
    const std::array cells = {std::to_string(report.num_requests),
                              std::to_string(report.num_errors),
                              number(report.output_tokens_per_s),
                              number(report.prompt_tokens),
                              number(report.cached_tokens),
                              number(report.completion_tokens),
                              cell(report.ttft_s.p50),
                              cell(report.ttft_s.p99),
                              cell(report.itl_s.p50),
                              cell(report.itl_s.p99),
                              cell(report.tpot_s.p50),
                              cell(report.e2e_s.p50),
                              report.goodput ? fmt::format("{:.0f} %", *report.goodput * 100.0) : "-"};
    for (const std::string& text : cells)
      html += fmt::format("<td>{}</td>", text);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string html_report(const LoadPage& page) {
  std::string html = fmt::format(kHead, escape_html(page.url), escape_html(page.model), escape_html(page.when));
  html += draw(make_plot(page, "Tokens per second, all answers together", {"tokens/s"},
                         [](const LoadReport& report) { return std::vector{report.output_tokens_per_s}; }));
  html += draw(percentile_plot(page, "Time to first token, ms", &LoadReport::ttft_s));
  html += draw(percentile_plot(page, "Gap between two pieces of text (ITL), ms", &LoadReport::itl_s));
  html += draw(percentile_plot(page, "Mean gap per token of a request (TPOT), ms", &LoadReport::tpot_s));
  return html + table(page) + std::string(kFoot);
}

}  // namespace vitrine::tools
