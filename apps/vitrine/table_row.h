#pragma once

#include <string>
#include <vector>

namespace vitrine::cli {

// A row of a table of tables in a file of settings, as a word: "NAME.KEY=VALUE", or "NAME" of one without rows. A name
// may have dots, a key has none.
struct TableRow {
  std::string name;
  std::string key;  // empty: the table itself
  std::string value;
};
// `flag` is the flag whose word it is. Throws base::Exception (kUsage).
TableRow split_table_row(const std::string& flag, const std::string& word);

// A refusal of the row with the reason: "--plans free.tokens: ...". Throws base::Exception (kUsage).
[[noreturn]] void refuse_row(const std::string& flag, const TableRow& row, const std::string& reason);
// The same of a key that is none of those there are; it names the nearest.
[[noreturn]] void refuse_key(const std::string& flag, const TableRow& row, const std::vector<std::string>& keys);

}  // namespace vitrine::cli
