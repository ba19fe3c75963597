#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace vitrine::chat {

// Objects and arrays inside each other that a conversation may have.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Parses JSON keeping the order of keys. Fails with kUsage; `what` begins the message.
base::Result<nlohmann::ordered_json> parse_json(std::string_view text, std::string_view what);

// Writes JSON on one line. Fails with kUsage on strings that are not UTF-8 and on values that are nested too deep.
base::Result<std::string> dump_json(const nlohmann::ordered_json& value, std::string_view what);

}  // namespace vitrine::chat
