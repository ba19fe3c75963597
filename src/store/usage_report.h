#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace vitrine::store {

// By what the sums of a report are told apart.
enum class UsageGroup { kKey, kModel, kDay };
// As the command line and the API spell them; nullopt for any other word.
std::optional<UsageGroup> parse_usage_group(std::string_view word);
std::string_view name_of(UsageGroup group);

struct UsageQuery {
  UsageGroup group = UsageGroup::kKey;
  std::optional<std::int64_t> first_day = {};  // as base/utc_date.h counts them; both days are part of it
  std::optional<std::int64_t> last_day = {};
  std::optional<std::string> key_id = {};
};

struct UsageSum {
  std::string group;  // a key's id (empty: requests without one), a model's name or a day such as "2025-03-14"
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompts
  std::int64_t completion_tokens = 0;
  std::int64_t cost_nano = 0;  // in 1e-9 of the currency
  std::string currency;        // empty: what had no price. Each currency of a group has a sum of its own
  std::string name = {};       // of the key, where name_keys() found it
};

// Reads the ledger that any process writes. One thread.
class UsageReport {
 public:
  // `patience`: how long to wait where another process makes or upgrades the file. Throws base::Exception, as all do.
  UsageReport(const std::filesystem::path& folder, std::chrono::milliseconds patience);

  std::vector<UsageSum> sums(const UsageQuery& query) const;
  // Tokens of prompts and answers of a key on these days, the last one included.
  std::int64_t tokens(const std::string& key_id, std::int64_t first_day, std::int64_t last_day);

 private:
  Database database_;
  Statement tokens_;
};

}  // namespace vitrine::store
