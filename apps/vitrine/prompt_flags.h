#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "trace/timeline.h"
#include "vitrine/models.h"
#include "vitrine/parser.h"
#include "vitrine/runtime.h"

namespace vitrine::cli {

// Which model a command runs and on what prompt, bound to flags by add_prompt_flags.
struct PromptFlags {
  std::vector<std::string> words;  // positionals: MODEL and PROMPT
  std::optional<std::string> model;
  std::optional<std::string> prompt;
  std::string ids;  // "1,2,3": the prompt as token ids
  bool chat = false;
  std::string system;
  std::string examples;       // a file
  std::string chat_template;  // a file
  bool no_parse_special = false;
  std::string default_model;  // where none is given; empty: one must be
};
void add_prompt_flags(const Parser& parser, PromptFlags& flags);

// The model's name and the text of the prompt (empty with --ids), read from stdin where it is piped and none is given.
// Throws base::Exception (kUsage) where one is missing or flags contradict each other.
struct GivenPrompt {
  std::string model;
  std::string text;
};
GivenPrompt take_prompt(const PromptFlags& flags, const Models& models);

// The ids that the model is to read: those of --ids, or the text with its examples, as a conversation with --chat.
// Spans for template and tokenizer go to `timeline`. Throws base::Exception.
std::vector<TokenId> prompt_ids(const Runtime& runtime, const PromptFlags& flags, const std::string& text,
                                trace::Timeline& timeline);

}  // namespace vitrine::cli
