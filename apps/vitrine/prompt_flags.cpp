#include "vitrine/prompt_flags.h"

#include <unistd.h>

#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "chat/messages.h"
#include "vitrine/conversation.h"
#include "vitrine/model_or_prompt.h"
#include "vitrine/text_input.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<TokenId> parse_ids(const std::string& text) {
  std::vector<TokenId> ids = parse_token_ids(
      text, " ,[]", [&](std::string_view /*rest*/) { refuse("--ids " + text + ": write token ids like 1,2,3"); });
  if (ids.empty()) refuse("--ids: no token id given; write them like 1,2,3");
  return ids;
}

Json read_examples(const PromptFlags& flags) {
  if (flags.examples.empty()) return Json::array();
  return chat::parse_examples(read_file(flags.examples), flags.examples).value_or_throw();
}

// The same ids as `vitrine chat` reads.
std::vector<TokenId> chat_ids(const Runtime& runtime, const PromptFlags& flags, const std::string& text,
                              trace::Timeline& timeline) {
  Conversation conversation(runtime,
                            {.system = flags.system, .examples = flags.examples, .chat_template = flags.chat_template});
  if (!conversation.has_template()) {
    refuse(runtime.bundle().path.string() +
           ": the model brings no chat template; leave --chat out or give one with --chat-template");
  }
  conversation.add_user(text);
  return conversation.prompt(timeline);
}

// Without a template: each example's question and answer on lines of their own, a blank line between examples.
std::string join_plain(const PromptFlags& flags, const std::string& text) {
  std::string joined;
  for (const Json& message : read_examples(flags)) {
    joined += message.at("content").get<std::string>();
    joined += message.at("role") == "assistant" ? "\n\n" : "\n";
  }
  return joined + text;
}

}  // namespace

void add_prompt_flags(const Parser& parser, PromptFlags& flags) {
  parser.add("words", flags.words, "MODEL and PROMPT; piped text is the prompt where none is given").words(0, 2);
  parser.add("-m,--model,--model-path", flags.model, "A catalog name, a file or folder, or hf:ORG/REPO[:FILE]");
  parser.add("-p,--prompt", flags.prompt, "The prompt");
  parser.add("--ids", flags.ids, "The prompt as token ids, such as 1,2,3; needs no tokenizer");
  parser.add_switch("--chat", flags.chat, "Put the prompt into the model's chat template");
  parser.add("--system", flags.system, "With --chat: the system message");
  parser.add("--examples", flags.examples,
             "A file with an example a line, {\"user\": ..., \"assistant\": ...}, to put before the prompt");
  parser.add("--chat-template", flags.chat_template, "With --chat: a Jinja file instead of the model's own");
  parser.add_switch("--no-parse-special", flags.no_parse_special,
                    "Special tokens written in the prompt stay plain text");
}

GivenPrompt take_prompt(const PromptFlags& flags, const Models& models) {
  ModelAndPrompt given = sort_positionals(flags.words, {flags.model, flags.prompt}, models.names()).value_or_throw();
  if (!given.model && !flags.default_model.empty()) given.model = flags.default_model;
  if (!given.model) refuse("model: none given; name one, such as smollm2-135m-instruct");
  if (!flags.chat && !flags.system.empty()) refuse("--system: it is part of a conversation; add --chat");
  if (!flags.chat && !flags.chat_template.empty()) refuse("--chat-template: it is for conversations; add --chat");
  if (flags.chat && flags.no_parse_special) {
    refuse("--no-parse-special: with --chat special tokens in the prompt stay text anyway; leave one of them out");
  }
  if (!flags.ids.empty()) {
    if (given.prompt) refuse("--ids: a prompt is given as text as well; keep one of them");
    if (flags.chat || !flags.examples.empty()) refuse("--ids: token ids take no --chat and no --examples");
    return {*given.model, ""};
  }
  if (!given.prompt && ::isatty(STDIN_FILENO) == 0) given.prompt = read_piped("prompt");
  if (!given.prompt || given.prompt->empty()) {
    refuse("prompt: none given; add it as the last argument or pipe it in");
  }
  return {*given.model, *given.prompt};
}

std::vector<TokenId> prompt_ids(const Runtime& runtime, const PromptFlags& flags, const std::string& text,
                                trace::Timeline& timeline) {
  if (!flags.ids.empty()) return parse_ids(flags.ids);
  if (flags.chat) return chat_ids(runtime, flags, text, timeline);
  std::string whole;
  {
    const trace::ScopedSpan span(timeline, trace::Stage::kTemplate);
    whole = join_plain(flags, text);
  }
  return encode_text(runtime.tokenizer(), whole, {.parse_special = !flags.no_parse_special, .add_special = true},
                     timeline);
}

}  // namespace vitrine::cli
