#include "plot/page.h"

#include <string_view>

#include <fmt/format.h>

#include "base/escape_html.h"

namespace vitrine::plot {
namespace {

using base::escape_html;

constexpr std::string_view kPageHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{0}</title><style>
:root {{ color-scheme: light dark; --ink: #1b1f24; --paper: #fbfaf7; --line: #d6d3ca }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e8e6e1; --paper: #14171a; --line: #3a3f45 }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 64rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }}
th, td {{ text-align: right; padding: .3rem .5rem; border-bottom: 1px solid var(--line) }}
th:first-child, td:first-child {{ text-align: left }}
.scroll {{ overflow-x: auto }} figure {{ margin: 1.5rem 0 }} svg {{ width: 100%; height: auto }} p {{ overflow-wrap: anywhere }}
</style></head><body>
<h1>{0}</h1>
)";

std::string table_row(const std::vector<std::string>& cells, std::string_view tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells)
    html += fmt::format("<{0}>{1}</{0}>", tag, escape_html(cell));
  return html + "</tr>";
}

}  // namespace

std::string html(const Page& page) {
  std::string text = fmt::format(kPageHead, escape_html(page.title));
  for (const std::string& note : page.notes)
    text += "<p>" + escape_html(note) + "</p>\n";
  for (const std::string& figure : page.figures)
    text += "<figure>" + figure + "</figure>\n";
  text += R"(<div class="scroll"><table><thead>)" + table_row(page.columns, "th") + "</thead><tbody>\n";
  for (const auto& row : page.rows)
    text += table_row(row, "td") + "\n";
  return text + "</tbody></table></div>\n" + page.foot + "</body></html>\n";
}

}  // namespace vitrine::plot
