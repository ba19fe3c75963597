#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace vitrine::chat {

// Objects and arrays inside each other that a conversation may have.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Members that one object may have: they are found by walking along.
inline constexpr std::size_t kMaxJsonMembers = 4096;

enum class JsonProblem { kNone, kSyntax, kTooDeep, kRepeatedKey, kTooManyMembers };

// Where a text stops being the JSON that is taken.
struct JsonFault {
  JsonProblem problem = JsonProblem::kNone;
  std::string path;  // of the value, "messages[0].content", as far as its names are plain ones
};

// Parses JSON keeping the order of keys. A key that stands twice in an object is refused: readers differ in which one
// they take. Fails with kUsage; `what` begins the message, `fault` (may be null) says what is wrong where.
base::Result<nlohmann::ordered_json> parse_json(std::string_view text, std::string_view what,
                                                JsonFault* fault = nullptr);

// Writes JSON on one line. Fails with kUsage on strings that are not UTF-8 and on values that are nested too deep.
base::Result<std::string> dump_json(const nlohmann::ordered_json& value, std::string_view what);

}  // namespace vitrine::chat
