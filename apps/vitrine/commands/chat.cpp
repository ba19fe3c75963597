#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "vitrine/chat_session.h"
#include "vitrine/commands/commands.h"
#include "vitrine/conversation.h"
#include "vitrine/generation_flags.h"
#include "vitrine/model_or_prompt.h"
#include "vitrine/models.h"
#include "vitrine/parser.h"
#include "vitrine/runtime.h"
#include "vitrine/stream_answer.h"
#include "vitrine/text_input.h"

namespace vitrine::cli {
namespace {

// Between two steps the progress moves on and Ctrl-C is obeyed: smaller steps than those of run, whose speed is nearly
// the same.
constexpr std::size_t kChunkTokens = 128;

// A small model that always takes its most probable token soon repeats itself. One answer that can be had again is
// worth that, a conversation is not.
void loosen(sampling::SamplingParams& params) {
  params.temperature = 0.7F;
  params.min_p = 0.1F;
}

class ChatCommand final : public Command {
 public:
  explicit ChatCommand(const Parser& parser) {
    parser.add("words", words_, "MODEL and PROMPT; without a prompt on a terminal, a conversation").words(0, 2);
    parser.add("-m,--model,--model-path", model_,
               fmt::format("A catalog name, a file or folder, or hf:ORG/REPO[:FILE] (default {})", kDefaultModel));
    parser.add("-p,--prompt", prompt_, "The prompt");
    parser.add("--system", conversation_options_.system, "The system message");
    parser.add("--examples", conversation_options_.examples,
               "A file with an example a line, {\"user\": ..., \"assistant\": ...}, to put before the prompt");
    parser.add("--chat-template", conversation_options_.chat_template, "A Jinja file instead of the model's own");
    runtime_flags_.max_chunk_tokens = kChunkTokens;
    add_runtime_flags(parser, runtime_flags_);
    add_generation_flags(parser, generation_flags_);
    parser.find("--temperature")
        .append_help("; a conversation without any of these flags has --temperature 0.7 --min-p 0.1");
  }

  int run(Context& context) override {
    const Models models;
    AnswerOptions options = generation_flags_.options();
    const ModelAndPrompt given = take_words(models, context.flags.json);
    if (!given.prompt && !generation_flags_.sampling.has_choice()) loosen(options.sampling);
    const std::string path = models.find_or_pull(given.model.value_or(kDefaultModel), context).path.string();
    trace::Timeline timeline;
    Runtime runtime(path, runtime_flags_, timeline);
    Conversation conversation(runtime, conversation_options_);
    std::vector<std::string> warnings = collect_warnings(runtime, options);
    if (!conversation.has_template()) warnings.push_back(path + ": the model has no chat template; plain completion");
    show_warnings(context, generation_flags_, warnings);
    if (!given.prompt) {
      return ChatSession(context, runtime, conversation, {options, generation_flags_.stats}).run();
    }
    conversation.add_user(*given.prompt);
    const Answer answer = stream_answer(context, runtime, conversation.prompt(timeline), options, timeline);
    return report_answer(context, runtime, generation_flags_, answer, std::move(warnings));
  }

 private:
  ModelAndPrompt take_words(const Models& models, bool json) const {
    ModelAndPrompt given = sort_positionals(words_, {model_, prompt_}, models.names()).value_or_throw();
    if (!given.prompt && ::isatty(STDIN_FILENO) == 0) given.prompt = read_piped("prompt");
    if (given.prompt && given.prompt->empty()) refuse("prompt: it is empty; add it as the last argument or pipe it in");
    if (!given.prompt && json) refuse("--json: a conversation on a terminal has no JSON; add a prompt");
    return given;
  }

  std::vector<std::string> words_;
  std::optional<std::string> model_;
  std::optional<std::string> prompt_;
  ConversationOptions conversation_options_;
  RuntimeFlags runtime_flags_;
  GenerationFlags generation_flags_;
};

}  // namespace

std::unique_ptr<Command> make_chat(const Parser& parser) {
  return std::make_unique<ChatCommand>(parser);
}

}  // namespace vitrine::cli
