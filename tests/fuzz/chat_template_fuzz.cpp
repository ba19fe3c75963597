// Any text as a chat template: it is refused, or renders a conversation within its limits, or fails with one line that
// says why. A panic of the Rust side would come out as an internal error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "chat/chat_template.h"

namespace {

using namespace vitrine;
using Json = nlohmann::ordered_json;

constexpr chat::TemplateLimits kLimits{
    .num_steps = 1000, .depth = 8, .source_bytes = 4096, .output_bytes = std::size_t{1} << 14};

chat::RenderRequest make_conversation() {
  chat::RenderRequest request;
  const Json call = {{"type", "function"}, {"function", {{"name", "f"}, {"arguments", {{"x", 1.5}}}}}};
  request.messages = Json::array({
      {{"role", "system"}, {"content", "Be brief."}},
      {{"role", "user"}, {"content", Json::array({{{"type", "text"}, {"text", "\xC3\xA9 <x>"}}})}},
      {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}},
  });
  request.tools = Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
  request.variables = {{"bos_token", "<s>"}, {"n", 3}};
  request.now = chat::LocalTime{2025, 3, 14, 15, 9, 26};
  return request;
}

void check_error(const base::Error& error) {
  VT_CHECK(error.kind == base::ErrorKind::kBadFile || error.kind == base::ErrorKind::kUsage, "an error that is ours");
  VT_CHECK(!error.message.empty() && error.message.find('\n') == std::string::npos, "a message of several lines");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const chat::RenderRequest conversation = make_conversation();
  const auto compiled = chat::ChatTemplate::compile({reinterpret_cast<const char*>(data), size}, kLimits);
  if (!compiled) {
    check_error(compiled.error());
    return 0;
  }
  const auto text = compiled->render(conversation);
  if (!text) {
    check_error(text.error());
  } else {
    VT_CHECK(text->size() <= kLimits.output_bytes, "a text over its limit");
  }
  return 0;
}
