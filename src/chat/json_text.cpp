#include "chat/json_text.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;

base::Error too_deep(std::string_view what) {
  return base::usage_error(fmt::format("{}: nested deeper than {} levels", what, kMaxJsonDepth));
}

// Walks with its own stack, so that a deep value cannot exhaust the thread's.
bool is_too_deep(const Json& value) {
  std::vector<std::pair<const Json*, std::size_t>> pending{{&value, 0}};
  while (!pending.empty()) {
    const auto [node, depth] = pending.back();
    pending.pop_back();
    if (!node->is_structured()) continue;
    if (depth >= kMaxJsonDepth) return true;
    for (const Json& child : *node)
      pending.emplace_back(&child, depth + 1);
  }
  return false;
}

}  // namespace

base::Result<Json> parse_json(std::string_view text, std::string_view what) {
  bool deep = false;
  const auto within_depth = [&deep](int depth, Json::parse_event_t event, Json&) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && static_cast<std::size_t>(depth) >= kMaxJsonDepth) deep = true;
    return !deep;
  };
  try {
    Json value = Json::parse(text, within_depth);
    if (deep) return too_deep(what);
    return value;
  } catch (const Json::exception& error) {
    if (deep) return too_deep(what);
    return base::usage_error(fmt::format("{}: is not JSON (byte {})", what, [&error] {
      const auto* parse_error = dynamic_cast<const Json::parse_error*>(&error);
      return parse_error != nullptr ? parse_error->byte : 0;
    }()));
  }
}

base::Result<std::string> dump_json(const Json& value, std::string_view what) {
  if (is_too_deep(value)) return too_deep(what);
  try {
    return value.dump();
  } catch (const Json::type_error&) {
    return base::usage_error(fmt::format("{}: a string is not UTF-8", what));
  }
}

}  // namespace vitrine::chat
