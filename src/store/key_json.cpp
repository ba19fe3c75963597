#include "store/key_json.h"

#include <fmt/format.h>

#include "base/result.h"

namespace vitrine::store {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json();
}

base::Exception wrong(std::string_view name, std::string_view what) {
  return {base::ErrorKind::kUsage, fmt::format("{}: {}", name, what)};
}

KeyLimits::Number read_number(const LimitRow& row, const Json& value) {
  if (value.is_null()) return std::nullopt;
  const bool fits = value.is_number_integer() && (!value.is_number_unsigned() ||
                                                  value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!fits) throw wrong(row.name, fmt::format("must be a whole number from {} to {}", row.lowest, row.highest));
  return value.get<std::int64_t>();
}

std::vector<std::string> read_models(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_array()) throw wrong("models", "must be an array of names");
  std::vector<std::string> names;
  for (const Json& name : value) {
    if (!name.is_string()) throw wrong("models", "must hold nothing but names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::string read_plan(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    throw wrong("plan", "must be the name of a plan, or null for none");
  return value.get<std::string>();
}

}  // namespace

Json to_json(const KeyLimits& limits) {
  Json json = Json::object();
  for (const LimitRow& row : limit_rows()) {
    if (const auto& number = limits.*row.number) json[std::string(row.name)] = *number;
  }
  if (!limits.models.empty()) json["models"] = limits.models;
  if (!limits.plan.empty()) json["plan"] = limits.plan;
  return json;
}

Json to_json(const KeyInfo& key) {
  return {{"id", key.id},
          {"name", key.name},
          {"role", role_name(key.role)},
          {"last_characters", key.last_characters},
          {"created", key.created_s},
          {"last_used", or_null(key.last_used_s)},
          {"revoked", or_null(key.revoked_s)},
          {"limits", to_json(key.limits)}};
}

Json to_json(const NewKey& key) {
  return {{"id", key.info.id}, {"name", key.info.name}, {"role", role_name(key.info.role)}, {"key", key.text}};
}

LimitChanges read_limit_changes(const Json& object) {
  if (!object.is_object()) throw wrong("limits", "must be an object");
  LimitChanges changes;
  for (const auto& [name, value] : object.items()) {
    if (name == "models") {
      changes.models = read_models(value);
    } else if (name == "plan") {
      changes.plan = read_plan(value);
    } else if (const LimitRow* row = find_limit_row(name); row != nullptr) {
      changes.numbers.emplace_back(row, read_number(*row, value));
    } else {
      throw wrong("limits",
                  "it has a member that is no limit; there are requests_per_minute, tokens_per_minute, "
                  "tokens_per_day, tokens_per_month, max_concurrent, priority, models, plan");
    }
  }
  return changes;
}

}  // namespace vitrine::store
