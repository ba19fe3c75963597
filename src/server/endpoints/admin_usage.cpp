#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/utc_date.h"
#include "server/api_error.h"
#include "server/endpoints/admin.h"
#include "server/endpoints/endpoints.h"
#include "server/query.h"
#include "store/usage_json.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::int64_t> read_day(const Query& query, const char* name) {
  const auto text = query.text(name);
  if (!text) return std::nullopt;
  const auto day = base::parse_day(*text);
  if (!day) throw bad_field(name, "write the day as 2025-03-14");
  return day;
}

store::UsageQuery read_usage_query(std::string_view text) {
  const Query query(text, {"by", "from", "to", "key"});
  const auto group = store::parse_usage_group(query.text("by").value_or("key"));
  if (!group) throw bad_field("by", "must be key, model or day");
  return {.group = *group,
          .first_day = read_day(query, "from"),
          .last_day = read_day(query, "to"),
          .key_id = query.text("key")};
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
