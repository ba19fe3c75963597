#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

// Conversations: arrays of {role, content, ...} in the shape of the chat completions API. They stay JSON, because
// templates read fields that no engine knows.
namespace vitrine::chat {

nlohmann::ordered_json make_message(std::string_view role, std::string_view content);

// Checks that every message is an object with a role and that its content, if any, is a string, null or an array of
// typed parts. Fails with kUsage and names the field ("messages[2].role: ...").
base::Result<void> check_messages(const nlohmann::ordered_json& messages);

// A conversation from a file's text: an array of messages, or an object with the member `messages`.
base::Result<nlohmann::ordered_json> parse_messages(std::string_view text);

// Worked examples, one JSON object {"user": "...", "assistant": "..."} a line, as pairs of messages to be put before
// the user's own. Fails with kUsage and names the line.
base::Result<nlohmann::ordered_json> parse_examples(std::string_view lines, std::string_view file_name);

}  // namespace vitrine::chat
