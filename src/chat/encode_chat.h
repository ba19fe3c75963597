#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "chat/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::chat {

// A rendered conversation, and the ids that the model is to read.
struct EncodedChat {
  std::string text;
  std::vector<TokenId> ids;
};

// Renders a conversation and encodes it so that special tokens come from the template alone: one that is written out in
// a message or a tool (anywhere but in a role) stays plain text. Without such text the ids are those of the whole text,
// encoded at once; else the text between two tokens of the template is encoded by itself.
// What comes from whom is found by rendering again with random marks inside the messages. Fails as render does, and
// with kUsage where a message holds a special token's text and the template changes it beyond recognition.
base::Result<EncodedChat> encode_chat(const ChatTemplate& chat_template, const RenderRequest& request,
                                      const tokenizer::Tokenizer& tokenizer);

}  // namespace vitrine::chat
