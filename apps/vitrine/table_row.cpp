#include "vitrine/table_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/result.h"
#include "base/suggest.h"

namespace vitrine::cli {

TableRow split_table_row(const std::string& flag, const std::string& word) {
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos) return {word, "", ""};
  const std::size_t dot = word.rfind('.', sign);
  if (dot == std::string::npos || dot == 0 || dot + 1 == sign)
    throw base::Exception(base::usage_error(fmt::format("{} {}: write it as NAME.SETTING=VALUE", flag, word)));
  return {word.substr(0, dot), word.substr(dot + 1, sign - dot - 1), word.substr(sign + 1)};
}

void refuse_row(const std::string& flag, const TableRow& row, const std::string& reason) {
  const std::string place = row.key.empty() ? row.name : row.name + "." + row.key;
  throw base::Exception(base::usage_error(fmt::format("{} {}: {}", flag, place, reason)));
}

void refuse_key(const std::string& flag, const TableRow& row, const std::vector<std::string>& keys) {
  const auto near = base::nearest(row.key, keys);
  refuse_row(flag, row,
             near ? fmt::format("no such setting; did you mean {}?", *near)
                  : fmt::format("no such setting; there are {}", fmt::join(keys, ", ")));
}

}  // namespace vitrine::cli
