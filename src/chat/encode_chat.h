#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "chat/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::chat {

// A conversation as text, and where in it the messages' own special tokens begin: those stay plain text.
struct RenderedChat {
  std::string text;
  std::vector<std::size_t> foreign_places;  // one behind the first byte of each, rising
};

// Renders a conversation for encode_rendered. What comes from whom is found by rendering again with random marks inside
// the messages. Fails as ChatTemplate::render does, and with kUsage where a message holds a special token's text and
// the template changes it beyond recognition.
base::Result<RenderedChat> render_chat(const ChatTemplate& chat_template, const RenderRequest& request,
                                       const tokenizer::Tokenizer& tokenizer);

// Encodes a conversation so that special tokens come from the template alone: one that is written out in a message or a
// tool (anywhere but in a role) stays plain text. Without such text the ids are those of the whole text, encoded at
// once; else the text between two tokens of the template is encoded by itself.
base::Result<std::vector<TokenId>> encode_rendered(const RenderedChat& chat, const tokenizer::Tokenizer& tokenizer);

}  // namespace vitrine::chat
