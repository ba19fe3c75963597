#include "tools/lab/report.h"

#include <fmt/format.h>

#include "plan/formula.h"
#include "plot/page.h"

namespace vitrine::lab {
namespace {

std::string origin_line(const Origin& origin) {
  std::string line = origin.model + ", " + origin.day;
  const auto cpu = origin.machine.find("cpu");
  if (cpu != origin.machine.end() && cpu->is_string() && !cpu->get_ref<const std::string&>().empty())
    line += ", " + cpu->get<std::string>();
  const auto threads = origin.machine.find("threads");
  if (threads != origin.machine.end() && threads->is_number())
    line += fmt::format(", {} threads", threads->get<std::size_t>());
  return line;
}

// A cell must not end its column.
std::string for_markdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells)
    line += " " + for_markdown(cell) + " |";
  return line + "\n";
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAsExpected:
      return "as_expected";
    case Verdict::kContradicts:
      return "contradicts";
    case Verdict::kUnclear:
      break;
  }
  return "unclear";
}

void add_ratio(Json& row, const std::string& name, const Spread& ratio) {
  row[name + "_x"] = ratio.median;
  row[name + "_x_low"] = ratio.low;
  row[name + "_x_high"] = ratio.high;
}

std::string cell_of(const Json& row, const Column& column) {
  const auto found = row.find(column.key);
  if (found == row.end() || found->is_null()) return "-";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_boolean()) return found->get<bool>() ? "yes" : "no";
  if (found->is_number_unsigned() && column.factor == 1.0) return plan::grouped(found->get<std::size_t>());
  return fmt::format("{:.{}f}", found->get<double>() * column.factor, column.decimals);
}

std::vector<std::string> header_of(const Report& report) {
  std::vector<std::string> header;
  for (const Column& column : report.columns)
    header.push_back(column.title);
  return header;
}

std::vector<std::vector<std::string>> cells_of(const Report& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& row : report.rows) {
    auto& cells = rows.emplace_back();
    for (const Column& column : report.columns)
      cells.push_back(cell_of(row, column));
  }
  return rows;
}

std::vector<std::string> lines_of(const Report& report) {
  return {"Measured: " + report.measured, "Said everywhere: " + report.expected, "Here: " + report.conclusion.text};
}

Json to_json(const Report& report, const Origin& origin) {
  return {{"name", report.name},
          {"title", report.title},
          {"model", origin.model},
          {"day", origin.day},
          {"machine", origin.machine},
          {"settings", report.settings},
          {"rows", report.rows},
          {"measured", report.measured},
          {"expected", report.expected},
          {"verdict", verdict_name(report.conclusion.verdict)},
          {"conclusion", report.conclusion.text},
          {"notes", report.notes}};
}

std::string to_markdown(const Report& report, const Origin& origin) {
  std::string text = fmt::format("# {}\n\n{}\n\n", report.title, origin_line(origin));
  for (const std::string& line : lines_of(report))
    text += line + "\n\n";
  text += markdown_row(header_of(report));
  text += "|";
  for (std::size_t i = 0; i < report.columns.size(); ++i)
    text += i == 0 ? "---|" : "---:|";
  text += "\n";
  for (const auto& cells : cells_of(report))
    text += markdown_row(cells);
  for (std::size_t i = 0; i < report.plots.size(); ++i)
    text += fmt::format("\n![{}](<{}>)\n", report.title, plot_file_name(report.name, i));
  for (const std::string& note : report.notes)
    text += "\n" + note + "\n";
  return text;
}

std::string to_html(const Report& report, const Origin& origin) {
  plot::Page page{.title = report.title,
                  .notes = {origin_line(origin)},
                  .figures = report.plots,
                  .columns = header_of(report),
                  .rows = cells_of(report),
                  .foot = {}};
  for (const std::string& line : lines_of(report))
    page.notes.push_back(line);
  page.notes.insert(page.notes.end(), report.notes.begin(), report.notes.end());
  return plot::html(page);
}

std::string plot_file_name(const std::string& name, std::size_t plot_idx) {
  return plot_idx == 0 ? name + ".svg" : fmt::format("{}-{}.svg", name, plot_idx + 1);
}

}  // namespace vitrine::lab
