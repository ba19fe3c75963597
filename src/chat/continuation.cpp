#include "chat/continuation.h"

namespace vitrine::chat {
namespace {

// The space at its end shows whether the template trims messages.
constexpr std::string_view kMark = "VITRINE_FINAL_MESSAGE_ENDS_HERE ";
constexpr std::string_view kTrimmedMark = kMark.substr(0, kMark.size() - 1);
constexpr std::string_view kWhitespace = " \t\n\v\f\r";

nlohmann::ordered_json* text_of(nlohmann::ordered_json& message) {
  if (!message.is_object()) return nullptr;
  const auto content = message.find("content");
  if (content == message.end()) return nullptr;
  if (content->is_string()) return &*content;
  if (!content->is_array()) return nullptr;
  for (auto part = content->rbegin(); part != content->rend(); ++part) {
    if (!part->is_object()) continue;
    const auto text = part->find("text");
    if (text != part->end() && text->is_string()) return &*text;
  }
  return nullptr;
}

}  // namespace

base::Result<void> mark_final_message(nlohmann::ordered_json& messages) {
  nlohmann::ordered_json* text = messages.empty() ? nullptr : text_of(messages.back());
  if (text == nullptr) {
    return base::usage_error("continue_final_message: the last message has no text to continue");
  }
  text->get_ref<std::string&>() += kMark;
  return {};
}

base::Result<std::string> cut_at_mark(std::string_view rendered) {
  const std::size_t place = rendered.rfind(kTrimmedMark);
  if (place == std::string_view::npos) {
    return base::usage_error("continue_final_message: the template does not print the end of the last message");
  }
  std::string_view text = rendered.substr(0, place);
  const bool trims = rendered.substr(place, kMark.size()) != kMark;
  if (trims) text = text.substr(0, text.find_last_not_of(kWhitespace) + 1);
  return std::string(text);
}

}  // namespace vitrine::chat
