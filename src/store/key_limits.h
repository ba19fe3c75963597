#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/database.h"

namespace vitrine::store {

// What the owner of a key may use. A minute is any sixty seconds; days and months are those of UTC. Tokens are those of
// the prompt, cached or not, and of the answer.
struct KeyLimits {
  using Number = std::optional<std::int64_t>;  // absent: no limit

  Number requests_per_minute = {};
  Number tokens_per_minute = {};
  Number tokens_per_day = {};
  Number tokens_per_month = {};
  Number max_concurrent = {};            // requests under way, those that wait among them
  Number priority = {};                  // no limit: requests of a higher one are computed first; absent: 0
  std::vector<std::string> models = {};  // names of those that it may use; empty: all
  std::string plan = {};                 // that says the limits which are absent here (store/key_plans.h); empty: none

  bool operator==(const KeyLimits&) const = default;
};

// What all that read, write or show limits share: one row a number.
struct LimitRow {
  std::string_view name;  // as the API and the database spell it
  KeyLimits::Number KeyLimits::*number;
  std::int64_t lowest;
  std::int64_t highest;
  std::string_view help;
};
std::span<const LimitRow> limit_rows();
// nullptr where there is none.
const LimitRow* find_limit_row(std::string_view name);

// Some limits anew; those that are not named stay.
struct LimitChanges {
  std::vector<std::pair<const LimitRow*, KeyLimits::Number>> numbers = {};  // without a number: the limit goes
  std::optional<std::vector<std::string>> models = {};
  std::optional<std::string> plan = {};  // "": the key has none from then on

  bool is_empty() const { return numbers.empty() && !models && !plan; }
};

// Throws base::Exception (kUsage) naming the limit and its range.
KeyLimits changed(KeyLimits limits, const LimitChanges& changes);

// The tables of limits, as upgrade_key_database() makes them. Keys without limits are not in the map.
std::map<std::string, KeyLimits> read_limits(const Database& database);
// In place of all that the key had. Inside a transaction of the caller.
void write_limits(const Database& database, const std::string& key_id, const KeyLimits& limits);

}  // namespace vitrine::store
