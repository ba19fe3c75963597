#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "store/key_store.h"
#include "store/usage_report.h"

namespace vitrine::store {

// The sums that a query asks for, with the names of the keys.
std::vector<UsageSum> named_sums(const UsageReport& report, KeyStore& keys, const UsageQuery& query);

// {"rows": [{"key" and "name", or "model", or "day"; "requests", "prompt_tokens", "cached_tokens", "completion_tokens",
// "total_tokens", "cost", "currency"}]}; null for no key and for no price. As `vitrine usage` and the admin API write
// it.
nlohmann::ordered_json usage_json(const std::vector<UsageSum>& sums, UsageGroup group);

// The exact cost in its currency: "0.000012345".
std::string format_cost(std::int64_t cost_nano);

}  // namespace vitrine::store
