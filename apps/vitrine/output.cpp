#include "vitrine/output.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>
#include <utf8proc.h>

#include "base/utf8.h"

namespace vitrine::cli {
namespace {

constexpr std::string_view kGap = "  ";

std::size_t width_of(char32_t character) {
  return static_cast<std::size_t>(std::max(utf8proc_charwidth(static_cast<utf8proc_int32_t>(character)), 0));
}

std::string cut(const std::string& text, std::size_t max_columns) {
  std::string_view rest = text;
  for (std::size_t used = 0; !rest.empty();) {
    const base::CodePoint character = base::decode_utf8(rest);
    used += width_of(character.value);
    if (used > max_columns) break;
    rest.remove_prefix(character.length);
  }
  return text.substr(0, text.size() - rest.size());
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths(table.header.size(), 0);
  const auto widen = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], num_columns(row[i]));
  };
  widen(table.header);
  for (const auto& row : table.rows)
    widen(row);
  return widths;
}

bool is_right(const Table& table, std::size_t column_idx) {
  return std::find(table.right.begin(), table.right.end(), column_idx) != table.right.end();
}

std::string format_row(const Table& table, const std::vector<std::string>& row,
                       const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string space(widths[i] - num_columns(row[i]), ' ');
    if (i > 0) line += kGap;
    line += is_right(table, i) ? space + row[i] : i + 1 < row.size() ? row[i] + space : row[i];
  }
  return line;
}

}  // namespace

std::size_t num_columns(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const base::CodePoint character = base::decode_utf8(text);
    columns += width_of(character.value);
    text.remove_prefix(character.length);
  }
  return columns;
}

std::size_t num_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

nlohmann::ordered_json number_or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

std::string format_date(std::int64_t unix_s) {
  const auto time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  if (unix_s <= 0 || ::localtime_r(&time, &parts) == nullptr) return "-";
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

void print_json(const Context& context, const nlohmann::ordered_json& value) {
  context.out.print(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void print_table(const Terminal& out, const Table& table) {
  Table shown = table;
  for (auto& row : shown.rows) {
    for (auto& cell : row)
      cell = printable(cell);
  }
  const auto widths = widths_of(shown);
  const auto width = static_cast<std::size_t>(out.width());
  const auto fitted = [&](const std::string& line) { return out.is_tty() ? cut(line, width) : line; };
  out.print(out.bold(fitted(format_row(shown, shown.header, widths))) + "\n");
  for (const auto& row : shown.rows)
    out.print(fitted(format_row(shown, row, widths)) + "\n");
}

}  // namespace vitrine::cli
