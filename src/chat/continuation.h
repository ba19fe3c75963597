#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

// How continue_final_message finds the place in the rendered text where the last message ends: a mark is added to the
// message before rendering, and the text is cut where the mark comes out.
namespace vitrine::chat {

// Appends the mark to the last message's text (its content, or the last text part of it). Fails where there is none.
base::Result<void> mark_final_message(nlohmann::ordered_json& messages);

// The text before the mark. White space before it goes too if the template trims the ends of messages.
base::Result<std::string> cut_at_mark(std::string_view rendered);

}  // namespace vitrine::chat
