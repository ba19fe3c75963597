#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/result.h"

// What the lists of models and of tokenizers have in common: TOML files of rows with a name each.
namespace vitrine::hub {

// Empty for a field that is missing or no text.
inline std::string text_field(const toml::table& row, std::string_view key) {
  return row[key].value_or(std::string());
}

// 0 for a field that is missing or no positive number.
inline std::uint64_t count_field(const toml::table& row, std::string_view key) {
  const std::int64_t value = row[key].value_or(std::int64_t{0});
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

// The rows of [[key]] in `text`, each an entry by entry_from(row) whose fault_of(entry) is empty and whose name no
// other has. Errors (kConfig) begin with `list`.
template <typename EntryFrom, typename FaultOf>
auto read_named_rows(std::string_view text, std::string_view list, std::string_view key, EntryFrom entry_from,
                     FaultOf fault_of) -> base::Result<std::vector<decltype(entry_from(toml::table()))>> {
  const auto fault_in_list = [&](std::string_view what) {
    return base::Error{base::ErrorKind::kConfig, fmt::format("{}: {}", list, what)};
  };
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return fault_in_list(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  std::vector<decltype(entry_from(toml::table()))> entries;
  std::set<std::string> names;
  const toml::array* rows = root[key].as_array();
  if (rows == nullptr) return fault_in_list(fmt::format("no [[{}]] in it", key));
  for (const toml::node& node : *rows) {
    const toml::table* row = node.as_table();
    if (row == nullptr) return fault_in_list(fmt::format("{}: not a table", key));
    auto entry = entry_from(*row);
    if (const auto fault = fault_of(entry); !fault.empty()) {
      return fault_in_list(fmt::format("{}: {}", entry.name, fault));
    }
    if (!names.insert(entry.name).second) return fault_in_list(entry.name + ": listed twice");
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace vitrine::hub
