#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "server/api_error.h"
#include "server/endpoints/admin.h"
#include "server/endpoints/endpoints.h"
#include "server/openai/fields.h"
#include "store/key_json.h"
#include "store/key_plans.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;
using store::KeyRole;

Json to_json(const KeyUse& use) {
  return {{"running", use.running},
          {"requests_last_minute", use.requests_last_minute},
          {"tokens_last_minute", use.tokens_last_minute},
          {"tokens_today", use.tokens_today},
          {"tokens_this_month", use.tokens_this_month}};
}

// A key whose plan this server does not have would be refused everywhere.
store::LimitChanges read_changes(const Json& object, const store::Plans& plans) {
  store::LimitChanges changes = store::read_limit_changes(object);
  if (!changes.plan || changes.plan->empty() || plans.contains(*changes.plan)) return changes;
  std::vector<std::string> names;
  for (const auto& [name, limits] : plans)
    names.push_back(name);
  throw bad_field("plan", names.empty() ? "this server's settings have no plans; add a table [plans.NAME] to them"
                                        : fmt::format("no plan of this server; there are {}", fmt::join(names, ", ")));
}

KeyRole read_role(Fields& fields) {
  const auto role = store::parse_role(fields.text("role").value_or("user"));
  if (!role) throw bad_field("role", "must be \"user\", \"admin\" or \"scrape\"");
  return *role;
}

struct NewKeyRequest {
  std::string name;
  KeyRole role = KeyRole::kUser;
  store::LimitChanges limits;
};

NewKeyRequest read_new_key(const std::string& body, const store::Plans& plans) {
  const Json json = parse_body(body);
  Fields fields(json);
  const auto name = fields.text("name");
  if (!name) throw bad_field("name", "say whose or what for the key is", "missing_field");
  NewKeyRequest request{.name = *name, .role = read_role(fields), .limits = {}};
  if (const Json* limits = fields.object("limits"); limits != nullptr) request.limits = read_changes(*limits, plans);
  if (!fields.unread().empty()) throw bad_field(fields.unread().front(), "is no field of a key", "unknown_field");
  return request;
}

}  // namespace

Awaitable<void> answer_list_keys(Exchange& exchange, Service& service) {
  Accounting& accounting = accounting_of(service);
  auto work = [&accounting] { return accounting.keys().list(); };
  const auto keys = co_await in_store(service, std::move(work));
  Json rows = Json::array();
  for (const store::KeyInfo& key : keys) {
    Json row = store::to_json(key);
    const auto effective = store::effective_limits(accounting.plans(), key.limits);
    row["effective_limits"] = effective ? store::to_json(*effective) : Json();
    row["now"] = to_json(accounting.quotas().use(key.id));
    rows.push_back(std::move(row));
  }
  Json json;
  json["keys"] = std::move(rows);
  co_await respond_json(exchange, json);
}

Awaitable<void> answer_plans(Exchange& exchange, Service& service) {
  Json rows = Json::array();
  for (const auto& [name, limits] : accounting_of(service).plans())
    rows.push_back({{"name", name}, {"limits", store::to_json(limits)}});
  Json json;
  json["plans"] = std::move(rows);
  co_await respond_json(exchange, json);
}

Awaitable<void> answer_create_key(Exchange& exchange, Service& service) {
  Accounting& accounting = accounting_of(service);
  auto work = [&accounting, &exchange] {
    const NewKeyRequest request = read_new_key(exchange.request().body, accounting.plans());
    return store::to_json(accounting.keys().create(request.name, request.role, request.limits));
  };
  const Json json = co_await in_store(service, std::move(work));
  co_await respond_json(exchange, json, 201);
}

Awaitable<void> answer_rotate_key(Exchange& exchange, Service& service) {
  Accounting& accounting = accounting_of(service);
  auto work = [&accounting, &exchange] { return store::to_json(accounting.keys().rotate(exchange.path_value(0))); };
  const Json json = co_await in_store(service, std::move(work));
  co_await respond_json(exchange, json);
}

Awaitable<void> answer_revoke_key(Exchange& exchange, Service& service) {
  Accounting& accounting = accounting_of(service);
  auto work = [&accounting, &exchange] { return accounting.keys().revoke(exchange.path_value(0)); };
  const store::KeyInfo key = co_await in_store(service, std::move(work));
  const Json json = {{"id", key.id}, {"name", key.name}, {"revoked", *key.revoked_s}};
  co_await respond_json(exchange, json);
}

Awaitable<void> answer_change_limits(Exchange& exchange, Service& service) {
  Accounting& accounting = accounting_of(service);
  auto work = [&accounting, &exchange] {
    const Json body = parse_body(exchange.request().body);
    const std::string& id = exchange.path_value(0);
    const auto limits = accounting.keys().change_limits(id, read_changes(body, accounting.plans()));
    return Json{{"id", id}, {"limits", store::to_json(limits)}};
  };
  const Json json = co_await in_store(service, std::move(work));
  co_await respond_json(exchange, json);
}

}  // namespace vitrine::server
