#include "chat/answer_text.h"

#include <utility>

namespace vitrine::chat {

AnswerText::AnswerText(const tokenizer::Tokenizer* tokenizer, StopMatcher stops) : stops_(std::move(stops)) {
  if (tokenizer != nullptr) detokenizer_.emplace(*tokenizer, true);
}

std::string AnswerText::push(TokenId token) {
  if (!detokenizer_ || stopped()) return "";
  return stops_.feed(detokenizer_->push(token));
}

std::string AnswerText::finish() {
  if (!detokenizer_ || stopped()) return "";
  std::string text = stops_.feed(detokenizer_->finish());
  if (!stopped()) text += stops_.finish();
  return text;
}

}  // namespace vitrine::chat
