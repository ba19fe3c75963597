#pragma once

#include <optional>
#include <string>

#include "chat/stop_matcher.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::chat {

// The text of one answer while its tokens come: whole characters only, cut at the first stop string. The pieces,
// joined, are the same for any way in which the answer is streamed. One per answer, not thread-safe; the tokenizer must
// outlive it.
class AnswerText {
 public:
  // Without a tokenizer (null: the model is used by ids alone) there is no text.
  AnswerText(const tokenizer::Tokenizer* tokenizer, StopMatcher stops);

  // The text that this token makes final. A token that ends the answer is no part of it and must not be pushed.
  std::string push(TokenId token);
  // No token follows: the text still held back, U+FFFD for a character that never became whole.
  std::string finish();

  // Whether a stop string was found: what follows is no part of the answer.
  bool stopped() const { return stops_.stopped(); }

 private:
  std::optional<tokenizer::Detokenizer> detokenizer_;
  StopMatcher stops_;
};

}  // namespace vitrine::chat
