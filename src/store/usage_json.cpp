#include "store/usage_json.h"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace vitrine::store {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json to_json(const UsageSum& sum, UsageGroup group) {
  Json json;
  json[std::string(name_of(group))] = text_or_null(sum.group);
  if (group == UsageGroup::kKey) json["name"] = text_or_null(sum.name);
  json["requests"] = sum.requests;
  json["prompt_tokens"] = sum.prompt_tokens;
  json["cached_tokens"] = sum.cached_tokens;
  json["completion_tokens"] = sum.completion_tokens;
  json["total_tokens"] = sum.prompt_tokens + sum.completion_tokens;
  json["cost"] = sum.currency.empty() ? Json() : Json(static_cast<double>(sum.cost_nano) / 1e9);
  json["currency"] = text_or_null(sum.currency);
  return json;
}

}  // namespace

std::vector<UsageSum> named_sums(const UsageReport& report, KeyStore& keys, const UsageQuery& query) {
  std::vector<UsageSum> sums = report.sums(query);
  if (query.group != UsageGroup::kKey) return sums;
  std::map<std::string, std::string> names;
  for (const KeyInfo& key : keys.list())
    names[key.id] = key.name;
  for (UsageSum& sum : sums)
    sum.name = names[sum.group];
  return sums;
}

Json usage_json(const std::vector<UsageSum>& sums, UsageGroup group) {
  Json rows = Json::array();
  for (const UsageSum& sum : sums)
    rows.push_back(to_json(sum, group));
  Json json;
  json["rows"] = std::move(rows);
  return json;
}

std::string format_cost(std::int64_t cost_nano) {
  return fmt::format("{}.{:09}", cost_nano / 1'000'000'000, cost_nano % 1'000'000'000);
}

}  // namespace vitrine::store
