#include "chat/messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "chat/json_text.h"

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;

base::Result<void> check_parts(const Json& parts, std::size_t message_idx) {
  for (std::size_t idx = 0; idx < parts.size(); ++idx) {
    const Json& part = parts[idx];
    const bool typed = part.is_object() && part.contains("type") && part["type"].is_string();
    if (!typed) {
      return base::usage_error(
          fmt::format("messages[{}].content[{}].type: must be a string such as \"text\"", message_idx, idx));
    }
  }
  return {};
}

base::Result<void> check_message(const Json& message, std::size_t idx) {
  if (!message.is_object()) return base::usage_error(fmt::format("messages[{}]: must be an object", idx));
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string() || role->get_ref<const std::string&>().empty()) {
    return base::usage_error(fmt::format("messages[{}].role: must be a string such as \"user\"", idx));
  }
  const auto content = message.find("content");
  if (content == message.end() || content->is_string() || content->is_null()) return {};
  if (content->is_array()) return check_parts(*content, idx);
  return base::usage_error(fmt::format("messages[{}].content: must be a string, null or an array of parts", idx));
}

// The two fields of an example, or what is wrong with it.
base::Result<std::array<std::string, 2>> parse_example(std::string_view line) {
  const auto example = parse_json(line, "the example");
  if (!example) return example.error();
  std::array<std::string, 2> texts;
  if (!example->is_object() || example->size() != texts.size()) {
    return base::usage_error("must be an object with the members user and assistant, and no other");
  }
  std::size_t idx = 0;
  for (const char* name : {"user", "assistant"}) {
    const auto member = example->find(name);
    if (member == example->end() || !member->is_string()) {
      return base::usage_error(fmt::format("{}: must be a string", name));
    }
    texts[idx++] = member->get<std::string>();
  }
  return texts;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Json make_message(std::string_view role, std::string_view content) {
  return {{"role", std::string(role)}, {"content", std::string(content)}};
}

base::Result<void> check_messages(const Json& messages) {
  if (!messages.is_array()) return base::usage_error("messages: must be an array");
  for (std::size_t idx = 0; idx < messages.size(); ++idx) {
    if (auto checked = check_message(messages[idx], idx); !checked) return checked;
  }
  return {};
}

base::Result<Json> parse_messages(std::string_view text) {
  auto parsed = parse_json(text, "messages");
  if (!parsed) return parsed.error();
  Json messages = *parsed;
  if (parsed->is_object() && parsed->contains("messages")) messages = (*parsed)["messages"];
  if (auto checked = check_messages(messages); !checked) return checked.error();
  return messages;
}

base::Result<Json> parse_examples(std::string_view lines, std::string_view file_name) {
  Json messages = Json::array();
  std::size_t line_number = 0;
  while (!lines.empty()) {
    ++line_number;
    const std::size_t length = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, length);
    lines.remove_prefix(std::min(length + 1, lines.size()));
    if (is_blank(line)) continue;
    const auto example = parse_example(line);
    if (!example) {
      return base::usage_error(fmt::format("{}:{}: {}", file_name, line_number, example.error().message));
    }
    messages.push_back(make_message("user", (*example)[0]));
    messages.push_back(make_message("assistant", (*example)[1]));
  }
  return messages;
}

}  // namespace vitrine::chat
