#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/token_id.h"
#include "chat/chat_template.h"
#include "chat/encode_chat.h"
#include "trace/timeline.h"
#include "vitrine/runtime.h"

namespace vitrine::cli {

// How a conversation begins, from the flags of chat.
struct ConversationOptions {
  std::string system;
  std::string examples;       // a file of pairs, put before the first message
  std::string chat_template;  // a file; empty: the model's own
};

// The messages of a chat and the way to turn them into token ids. A model without a template gets each text by itself,
// as plain completion. Owned by the command, used by one thread; the runtime must outlive it. Functions that read files
// or render throw base::Exception.
class Conversation {
 public:
  Conversation(const Runtime& runtime, const ConversationOptions& options);

  bool has_template() const { return template_.has_value(); }
  std::size_t num_messages() const { return messages_.size(); }

  // Whether no turn is over: only what the conversation opened with, and perhaps a first message.
  bool is_at_first_message() const { return messages_.size() <= opening_.size() + 1; }

  void add_user(std::string_view text);
  void add_assistant(std::string_view text);
  // Takes back the last message, whose answer never came.
  void drop_last();
  // Forgets all messages but the system message and the examples.
  void reset() { messages_ = opening_; }
  // Replaces the system message; an empty one takes it away.
  void set_system(std::string_view text);

  // The ids that the model is to read next. A span for the template and one for the tokenizer go to `timeline`.
  std::vector<TokenId> prompt(trace::Timeline& timeline) const;

  // All messages as the JSON array that `template --messages` and the HTTP API read.
  void save(const std::string& path) const;
  void load(const std::string& path);

 private:
  std::vector<TokenId> chat_ids(trace::Timeline& timeline) const;
  chat::RenderedChat render(trace::Timeline& timeline) const;
  std::vector<TokenId> plain_ids(trace::Timeline& timeline) const;

  const Runtime& runtime_;
  std::optional<chat::ChatTemplate> template_;
  nlohmann::ordered_json opening_;   // what reset goes back to
  nlohmann::ordered_json messages_;  // with opening_ at the front
};

}  // namespace vitrine::cli
