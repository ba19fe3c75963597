#include <unistd.h>

#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "vitrine/answer.h"
#include "vitrine/chat_session.h"
#include "vitrine/commands/commands.h"
#include "vitrine/conversation.h"
#include "vitrine/generation_flags.h"
#include "vitrine/interrupt.h"
#include "vitrine/model_or_prompt.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/prefill_progress.h"
#include "vitrine/runtime.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

constexpr const char* kDefaultModel = "smollm2-135m-instruct";

std::string read_stdin() {
  std::string text;
  char buffer[65536];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof(buffer), stdin)) > 0)
    text.append(buffer, count);
  return text;
}

[[noreturn]] void refuse(std::string message) {
  throw base::Exception(ErrorKind::kUsage, std::move(message));
}

class ChatCommand final : public Command {
 public:
  explicit ChatCommand(CLI::App& app) {
    app.add_option("words", words_, "MODEL and PROMPT; without a prompt on a terminal, a conversation")->expected(0, 2);
    app.add_option("-m,--model,--model-path", model_,
                   fmt::format("A catalog name, a file or folder, or hf:ORG/REPO[:FILE] (default {})", kDefaultModel));
    app.add_option("-p,--prompt", prompt_, "The prompt");
    app.add_option("--system", conversation_options_.system, "The system message");
    app.add_option("--examples", conversation_options_.examples,
                   "A file with an example a line, {\"user\": ..., \"assistant\": ...}, to put before the prompt");
    app.add_option("--chat-template", conversation_options_.chat_template, "A Jinja file instead of the model's own");
    app.add_flag("--stats", stats_, "Times and memory after each answer");
    add_runtime_flags(app, runtime_flags_);
    add_generation_flags(app, generation_flags_);
  }

  int run(Context& context) override {
    const Models models;
    const AnswerOptions options = generation_flags_.options();
    const ModelAndPrompt given = take_words(models, context.flags.json);
    const std::string path = models.find_or_pull(given.model.value_or(kDefaultModel), context).path.string();
    trace::Timeline timeline;
    Runtime runtime(path, runtime_flags_, timeline);
    Conversation conversation(runtime, conversation_options_);
    std::vector<std::string> warnings = collect_warnings(runtime, options, conversation, path);
    warn(context, warnings);
    if (!given.prompt) return ChatSession(context, runtime, conversation, {options, stats_}).run();
    return answer_once(context, runtime, conversation, options, {*given.prompt, timeline, warnings});
  }

 private:
  struct Once {
    std::string prompt;
    trace::Timeline& timeline;
    std::vector<std::string>& warnings;
  };

  ModelAndPrompt take_words(const Models& models, bool json) const {
    ModelAndPrompt given = sort_positionals(words_, {model_, prompt_}, models.names()).value_or_throw();
    if (!given.prompt && ::isatty(STDIN_FILENO) == 0) given.prompt = read_stdin();
    if (given.prompt && given.prompt->empty()) refuse("prompt: it is empty; add it as the last argument or pipe it in");
    if (!given.prompt && json) refuse("--json: a conversation on a terminal has no JSON; add a prompt");
    return given;
  }

  static std::vector<std::string> collect_warnings(const Runtime& runtime, const AnswerOptions& options,
                                                   const Conversation& conversation, const std::string& path) {
    std::vector<std::string> warnings = sampling::advice(options.sampling);
    warnings.insert(warnings.end(), runtime.warnings().begin(), runtime.warnings().end());
    if (!conversation.has_template()) warnings.push_back(path + " has no chat template: plain completion");
    return warnings;
  }

  static void warn(const Context& context, const std::vector<std::string>& warnings) {
    if (context.flags.quiet) return;
    for (const std::string& line : warnings)
      context.err.print("vitrine: note: " + printable(line) + "\n");
  }

  int answer_once(const Context& context, Runtime& runtime, Conversation& conversation, const AnswerOptions& options,
                  Once once) const {
    conversation.add_user(once.prompt);
    PrefillProgress progress(context.err, context.flags.quiet);
    const InterruptScope interrupt;
    AnswerHooks hooks;
    hooks.on_prefill = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
    hooks.stop = &interrupt.requested();
    if (!context.flags.json) {
      hooks.on_text = [&](std::string_view text) {
        progress.clear();
        context.out.print(text);
        std::fflush(context.out.stream());
      };
    }
    const Answer answer = answer_prompt(runtime, conversation.prompt(once.timeline), options, once.timeline, hooks);
    if (!answer.error.empty()) throw base::Exception(ErrorKind::kInternal, "answer: " + answer.error);
    progress.clear();
    if (!answer.length_note.empty()) {
      warn(context, {answer.length_note});
      once.warnings.push_back(answer.length_note);
    }
    if (context.flags.json) {
      print_json(context, to_json(answer, runtime, once.warnings));
    } else {
      context.out.print("\n");
    }
    if (stats_) print_stats(answer, runtime, context.err);
    return answer.finish_reason == "abort" ? static_cast<int>(ErrorKind::kInterrupted) : 0;
  }

  std::vector<std::string> words_;
  std::optional<std::string> model_;
  std::optional<std::string> prompt_;
  ConversationOptions conversation_options_;
  RuntimeFlags runtime_flags_;
  GenerationFlags generation_flags_;
  bool stats_ = false;
};

}  // namespace

std::unique_ptr<Command> make_chat(CLI::App& app) {
  return std::make_unique<ChatCommand>(app);
}

}  // namespace vitrine::cli
