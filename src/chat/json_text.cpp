#include "chat/json_text.h"

#include <algorithm>
#include <unordered_set>
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

// A name that may stand in a message: it is the client's.
bool is_plain(std::string_view key) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return key.size() <= 64 && std::ranges::all_of(key, is_letter);
}

// Follows the parser to the value that it is at.
class Place {
 public:
  void enter(bool is_array) { levels_.push_back({is_array}); }
  void name(const std::string& key) { levels_.back().key = key; }
  void leave() {
    levels_.pop_back();
    pass();
  }
  void pass() {
    if (!levels_.empty()) ++levels_.back().num_passed;
  }
  std::string path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (!level.is_array && !is_plain(level.key)) break;
      path += level.is_array ? fmt::format("[{}]", level.num_passed)
                             : fmt::format("{}{}", path.empty() ? "" : ".", level.key);
    }
    return path;
  }

 private:
  struct Level {
    bool is_array = false;
    std::size_t num_passed = 0;
    std::string key = {};
  };
  std::vector<Level> levels_;
};

// Watches the parser. After the first problem nothing more is kept.
class Guard {
 public:
  bool sees(std::size_t depth, Json::parse_event_t event, const Json& parsed) {
    using enum Json::parse_event_t;
    if (fault_.problem != JsonProblem::kNone) return false;
    if (event == object_start || event == array_start) open(depth, event == array_start);
    if (event == key) name(depth, parsed.get_ref<const std::string&>());
    if (event == value) place_.pass();
    if (event == object_end || event == array_end) place_.leave();
    return fault_.problem == JsonProblem::kNone;
  }
  void note(JsonProblem problem) {
    if (fault_.problem == JsonProblem::kNone) fault_ = {problem, place_.path()};
  }
  const JsonFault& fault() const { return fault_; }

 private:
  void open(std::size_t depth, bool is_array) {
    if (depth >= kMaxJsonDepth) return note(JsonProblem::kTooDeep);
    keys_.resize(depth + 1);
    keys_.emplace_back();
    place_.enter(is_array);
  }
  void name(std::size_t depth, const std::string& key) {
    if (depth >= keys_.size()) return;
    place_.name(key);
    auto& known = keys_[depth];
    if (!known.insert(key).second) note(JsonProblem::kRepeatedKey);
    if (known.size() > kMaxJsonMembers) note(JsonProblem::kTooManyMembers);
  }

  JsonFault fault_;
  Place place_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects that are open, by depth
};

base::Error describe(JsonProblem problem, std::string_view what, std::size_t byte) {
  if (problem == JsonProblem::kTooDeep) return too_deep(what);
  if (problem == JsonProblem::kRepeatedKey) return base::usage_error(fmt::format("{}: a key stands twice", what));
  if (problem == JsonProblem::kTooManyMembers)
    return base::usage_error(fmt::format("{}: an object has more than {} members", what, kMaxJsonMembers));
  return base::usage_error(fmt::format("{}: is not JSON (byte {})", what, byte));
}

}  // namespace

base::Result<Json> parse_json(std::string_view text, std::string_view what, JsonFault* fault) {
  Guard guard;
  std::size_t error_byte = 0;
  Json value;
  try {
    value = Json::parse(text, [&guard](int depth, Json::parse_event_t event, Json& parsed) {
      return guard.sees(static_cast<std::size_t>(depth), event, parsed);
    });
  } catch (const Json::parse_error& error) {
    guard.note(JsonProblem::kSyntax);
    error_byte = error.byte;
  } catch (const Json::exception&) {  // a number beyond all doubles
    guard.note(JsonProblem::kSyntax);
  }
  if (fault != nullptr) *fault = guard.fault();
  if (guard.fault().problem == JsonProblem::kNone) return value;
  return describe(guard.fault().problem, what, error_byte);
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
