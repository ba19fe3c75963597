#include "server/openai/fields.h"

#include <utility>

#include <fmt/format.h>

#include "chat/json_text.h"
#include "server/api_error.h"

namespace vitrine::server {

using Json = nlohmann::ordered_json;

Json parse_body(std::string_view body) {
  chat::JsonFault fault;
  auto parsed = chat::parse_json(body, "body", &fault);
  if (!parsed) {
    if (fault.problem == chat::JsonProblem::kTooDeep)
      throw ApiException({.message = parsed.error().message, .code = "json_too_deep"});
    throw ApiException({.message = parsed.error().message, .param = fault.path, .code = "invalid_json"});
  }
  if (!parsed->is_object()) throw ApiException({.message = "body: must be a JSON object", .code = "invalid_json"});
  return *std::move(parsed);
}

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

const Json* Fields::find(std::string_view name) {
  read_.emplace(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> Fields::text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw bad_field(param(name), "must be a string", "invalid_type");
  return value->get<std::string>();
}

std::optional<bool> Fields::flag(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) throw bad_field(param(name), "must be true or false", "invalid_type");
  return value->get<bool>();
}

std::optional<std::size_t> Fields::count(std::string_view name, std::size_t min, std::size_t max) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer()) throw bad_field(param(name), "must be a whole number", "invalid_type");
  const bool is_negative = !value->is_number_unsigned() && value->get<std::int64_t>() < 0;
  const std::uint64_t number = is_negative ? 0 : value->get<std::uint64_t>();
  if (is_negative || number < min || number > max)
    throw bad_field(param(name), fmt::format("must be from {} to {}", min, max));
  return number;
}

std::vector<std::string> Fields::texts(std::string_view name, std::size_t max_count) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) throw bad_field(param(name), "must be a string or an array of strings", "invalid_type");
  if (value->size() > max_count) throw bad_field(param(name), fmt::format("at most {} strings", max_count));
  std::vector<std::string> all;
  for (const Json& item : *value) {
    if (!item.is_string()) throw bad_field(param(name), "must hold nothing but strings", "invalid_type");
    all.push_back(item.get<std::string>());
  }
  return all;
}

const Json* Fields::object(std::string_view name) {
  const Json* value = find(name);
  if (value != nullptr && !value->is_object()) throw bad_field(param(name), "must be an object", "invalid_type");
  return value;
}

std::vector<std::string> Fields::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_.items()) {
    if (!read_.contains(name)) names.push_back(param(name));
  }
  names.insert(names.end(), unread_inside_.begin(), unread_inside_.end());
  return names;
}

void Fields::take_unread_of(const Fields& inner) {
  const std::vector<std::string> names = inner.unread();
  unread_inside_.insert(unread_inside_.end(), names.begin(), names.end());
}

}  // namespace vitrine::server
