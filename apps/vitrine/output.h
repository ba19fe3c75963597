#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vitrine/command.h"

namespace vitrine::cli {

// Prints one JSON object and a newline on stdout. Bytes that are not UTF-8 become U+FFFD.
void print_json(const Context& context, const nlohmann::ordered_json& value);

// A figure for such an object; null where there is none.
nlohmann::ordered_json number_or_null(const std::optional<double>& value);

// The day in this machine's time zone, "2025-03-14"; "-" for 0.
std::string format_date(std::int64_t unix_s);

// Rows of cells in columns, two spaces apart; `right` names the columns that hold numbers. The last column is cut at
// the width of a terminal. Cells are made printable.
struct Table {
  std::vector<std::string> header;
  std::vector<std::size_t> right;
  std::vector<std::vector<std::string>> rows;
};
void print_table(const Terminal& out, const Table& table);

// The columns that UTF-8 `text` takes on a terminal: two for a wide character (Unicode's East Asian Width), none for
// one that combines with the character before it.
std::size_t num_columns(std::string_view text);
// The characters (code points) of UTF-8 `text`.
std::size_t num_characters(std::string_view text);

}  // namespace vitrine::cli
