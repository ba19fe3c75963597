#pragma once

#include <vector>

#include "base/token_id.h"
#include "chat/chat_template.h"
#include "chat/encode_chat.h"
#include "server/openai/fields.h"
#include "server/served_model.h"

namespace vitrine::server {

// The fields of a chat that make its prompt: messages, chat_template_kwargs, add_generation_prompt,
// continue_final_message. Throws ApiException (400), also where the model has no chat template.
chat::RenderRequest read_chat_prompt(Fields& fields, const ServedModel& model);

// Throws ApiException: 400 where the template refuses the conversation, 422 where it goes over its limits.
chat::RenderedChat render_chat_prompt(const chat::RenderRequest& request, const ServedModel& model);
std::vector<TokenId> encode_rendered_prompt(const chat::RenderedChat& rendered, const ServedModel& model);
// Both in one.
std::vector<TokenId> encode_chat_prompt(const chat::RenderRequest& request, const ServedModel& model);

}  // namespace vitrine::server
