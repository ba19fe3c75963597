#include "server/openai/chat_prompt.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chat/messages.h"
#include "server/api_error.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

// Variables that templates of well-known models read; any other name could be one of our own.
constexpr auto kTemplateVariables =
    std::to_array<std::string_view>({"enable_thinking", "thinking", "reasoning_effort", "date_string"});

void read_variables(Fields& fields, Json& variables) {
  const Json* given = fields.object("chat_template_kwargs");
  if (given == nullptr) return;
  for (const auto& [name, value] : given->items()) {
    if (std::ranges::find(kTemplateVariables, name) == kTemplateVariables.end())
      throw bad_field("chat_template_kwargs", fmt::format("only {} can be set", fmt::join(kTemplateVariables, ", ")));
    if (value.is_structured()) throw bad_field("chat_template_kwargs", "its values must be plain", "invalid_type");
    variables[name] = value;
  }
}

void check_parts(const Json& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto content = messages[i].find("content");
    if (content == messages[i].end() || !content->is_array()) continue;
    for (const Json& part : *content) {
      if (part.value("type", "") != "text")
        throw bad_field(fmt::format("messages[{}].content", i), "only parts of type text are understood",
                        "unsupported");
    }
  }
}

Json read_messages(Fields& fields) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr) throw bad_field("messages", "give at least one message", "missing_field");
  if (messages->is_array() && messages->empty()) throw bad_field("messages", "give at least one message");
  const auto checked = chat::check_messages(*messages);
  if (!checked) throw ApiException({.message = checked.error().message, .param = "messages", .code = "invalid_value"});
  check_parts(*messages);
  return *messages;
}

}  // namespace

chat::RenderRequest read_chat_prompt(Fields& fields, const ServedModel& model) {
  if (model.chat_template == nullptr || model.tokenizer == nullptr)
    throw bad_field("model", "it has no chat template; use /v1/completions, or start the server with --chat-template",
                    "no_chat_template");
  chat::RenderRequest request;
  request.messages = read_messages(fields);
  request.variables = model.special_tokens;
  read_variables(fields, request.variables);
  request.add_generation_prompt = fields.flag("add_generation_prompt");
  request.continue_final_message = fields.flag("continue_final_message").value_or(false);
  return request;
}

chat::RenderedChat render_chat_prompt(const chat::RenderRequest& request, const ServedModel& model) {
  auto rendered = chat::render_chat(*model.chat_template, request, *model.tokenizer);
  if (rendered) return *std::move(rendered);
  if (rendered.error().kind == base::ErrorKind::kBadFile)
    throw ApiException({.status = 422, .message = rendered.error().message, .code = "template_limit"});
  throw ApiException({.message = rendered.error().message, .param = "messages", .code = "invalid_value"});
}

std::vector<TokenId> encode_rendered_prompt(const chat::RenderedChat& rendered, const ServedModel& model) {
  auto ids = chat::encode_rendered(rendered, *model.tokenizer);
  if (ids) return *std::move(ids);
  throw ApiException({.message = ids.error().message, .param = "messages", .code = "invalid_value"});
}

std::vector<TokenId> encode_chat_prompt(const chat::RenderRequest& request, const ServedModel& model) {
  return encode_rendered_prompt(render_chat_prompt(request, model), model);
}

}  // namespace vitrine::server
