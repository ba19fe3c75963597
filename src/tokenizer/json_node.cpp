#include "tokenizer/json_node.h"

#include <fmt/format.h>

#include <utility>

#include "base/result.h"

namespace vitrine::tokenizer {
namespace {

constexpr int kMaxDepth = 64;

// Whether brackets outside strings nest deeper than allowed.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

void JsonNode::fail(std::string_view reason) const {
  throw base::Exception(base::ErrorKind::kBadFile, fmt::format("{}: {}", path_, reason));
}

void JsonNode::refuse_type() const {
  fail(fmt::format("type \"{}\" is not supported", type()));
}

bool JsonNode::has(std::string_view name) const {
  const auto found = value_->find(name);
  return found != value_->end() && !found->is_null();
}

JsonNode JsonNode::at(std::string_view name) const {
  if (!value_->is_object()) fail("must be an object");
  const auto found = value_->find(name);
  if (found == value_->end()) fail(fmt::format("\"{}\" is missing", name));
  return {*found, path_ + '.' + std::string(name)};
}

JsonNode JsonNode::at(std::size_t index) const {
  if (index >= size()) fail(fmt::format("must have more than {} elements", index));
  return {(*value_)[index], fmt::format("{}[{}]", path_, index)};
}

std::size_t JsonNode::size() const {
  if (!value_->is_array()) fail("must be an array");
  return value_->size();
}

std::string JsonNode::string() const {
  if (!value_->is_string()) fail("must be a string");
  return value_->get<std::string>();
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("must be true or false");
  return value_->get<bool>();
}

std::int64_t JsonNode::integer() const {
  if (!value_->is_number_integer()) fail("must be an integer");
  const bool too_large = value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX;
  if (too_large) fail("is too large");
  return value_->get<std::int64_t>();
}

bool JsonNode::boolean_or(std::string_view name, bool otherwise) const {
  return has(name) ? at(name).boolean() : otherwise;
}

std::string JsonNode::string_or(std::string_view name, std::string_view otherwise) const {
  return has(name) ? at(name).string() : std::string(otherwise);
}

nlohmann::json parse_small_json(std::string_view text, std::string_view path) {
  const auto fail = [path](std::string_view reason) {
    throw base::Exception(base::ErrorKind::kBadFile, fmt::format("{}: {}", path, reason));
  };
  if (is_too_deep(text)) fail(fmt::format("nested deeper than {}", kMaxDepth));
  auto value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) fail("is not JSON");
  return value;
}

}  // namespace vitrine::tokenizer
