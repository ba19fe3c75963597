#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/utc_date.h"
#include "server/api_error.h"
#include "server/endpoints/admin.h"
#include "server/endpoints/endpoints.h"
#include "store/usage_json.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;
using Parameters = std::map<std::string, std::string, std::less<>>;

// Of "by=key&from=2025-03-14"; values are taken as they stand.
Parameters read_query(std::string_view query) {
  Parameters all;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const std::size_t sign = std::min(part.find('='), part.size());
    const std::string name(part.substr(0, sign));
    if (name != "by" && name != "from" && name != "to" && name != "key")
      throw ApiException({.message = "the query may have by, from, to and key", .code = "unknown_field"});
    if (!all.emplace(name, part.substr(std::min(sign + 1, part.size()))).second)
      throw bad_field(name, "stands twice in the query");
  }
  return all;
}

std::optional<std::string> value(const Parameters& parameters, std::string_view name) {
  const auto found = parameters.find(name);
  return found == parameters.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> read_day(const Parameters& parameters, const char* name) {
  const auto text = value(parameters, name);
  if (!text) return std::nullopt;
  const auto day = base::parse_day(*text);
  if (!day) throw bad_field(name, "write the day as 2025-03-14");
  return day;
}

store::UsageQuery read_usage_query(std::string_view query) {
  const Parameters parameters = read_query(query);
  const auto group = store::parse_usage_group(value(parameters, "by").value_or("key"));
  if (!group) throw bad_field("by", "must be key, model or day");
  return {.group = *group,
          .first_day = read_day(parameters, "from"),
          .last_day = read_day(parameters, "to"),
          .key_id = value(parameters, "key")};
}

}  // namespace

Awaitable<void> answer_usage(Exchange& exchange, Service& service) {
  Accounting& accounting = accounting_of(service);
  auto work = [&accounting, &exchange] {
    const store::UsageQuery query = read_usage_query(exchange.request().query);
    const store::UsageReport report(accounting.folder(), store::kPatience);
    return store::usage_json(store::named_sums(report, accounting.keys(), query), query.group);
  };
  const Json json = co_await in_store(service, std::move(work));
  co_await respond_json(exchange, json);
}

}  // namespace vitrine::server
