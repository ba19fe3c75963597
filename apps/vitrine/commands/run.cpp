#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "vitrine/answer.h"
#include "vitrine/commands/commands.h"
#include "vitrine/generation_flags.h"
#include "vitrine/interrupt.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/prefill_progress.h"
#include "vitrine/prompt_flags.h"
#include "vitrine/runtime.h"

namespace vitrine::cli {
namespace {

class RunCommand final : public Command {
 public:
  explicit RunCommand(CLI::App& app) {
    add_prompt_flags(app, prompt_flags_);
    app.add_flag("--stats", stats_, "Times and memory after the answer");
    app.add_flag("--strict", strict_, "Warnings are errors");
    add_runtime_flags(app, runtime_flags_);
    add_generation_flags(app, generation_flags_);
  }

  int run(Context& context) override {
    const Models models;
    const AnswerOptions options = generation_flags_.options();
    const GivenPrompt given = take_prompt(prompt_flags_, models);
    const std::string path = models.find_or_pull(given.model, context).path.string();
    trace::Timeline timeline;
    Runtime runtime(path, runtime_flags_, timeline);
    std::vector<std::string> warnings = sampling::advice(options.sampling);
    warnings.insert(warnings.end(), runtime.warnings().begin(), runtime.warnings().end());
    warn(context, warnings);
    std::vector<TokenId> prompt = prompt_ids(runtime, prompt_flags_, given.text, timeline);
    const Answer answer = make_answer(context, runtime, std::move(prompt), options, timeline);
    if (!answer.length_note.empty()) warnings.push_back(answer.length_note);
    report(context, runtime, answer, warnings);
    return answer.finish_reason == "abort" ? static_cast<int>(base::ErrorKind::kInterrupted) : 0;
  }

 private:
  void warn(const Context& context, const std::vector<std::string>& warnings) const {
    if (strict_ && !warnings.empty()) {
      throw base::Exception(base::ErrorKind::kUsage, warnings.front() + "; an error because of --strict");
    }
    if (context.flags.quiet) return;
    for (const std::string& line : warnings)
      context.err.print("vitrine: note: " + printable(line) + "\n");
  }

  static Answer make_answer(const Context& context, Runtime& runtime, std::vector<TokenId> prompt,
                            const AnswerOptions& options, trace::Timeline& timeline) {
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
    Answer answer = answer_prompt(runtime, std::move(prompt), options, timeline, hooks);
    if (!answer.error.empty()) throw base::Exception(base::ErrorKind::kInternal, "answer: " + answer.error);
    return answer;
  }

  void report(const Context& context, Runtime& runtime, const Answer& answer,
              const std::vector<std::string>& warnings) const {
    if (context.flags.json) {
      print_json(context, to_json(answer, runtime, warnings));
    } else {
      // Without a tokenizer there is no text: the ids are the answer.
      if (runtime.bundle().tokenizer == nullptr) context.out.print(fmt::format("{}", fmt::join(answer.token_ids, ",")));
      context.out.print("\n");
    }
    if (!answer.length_note.empty() && !context.flags.quiet) {
      context.err.print("vitrine: note: " + answer.length_note + "\n");
    }
    if (stats_) print_stats(answer, runtime, context.err);
  }

  PromptFlags prompt_flags_;
  RuntimeFlags runtime_flags_;
  GenerationFlags generation_flags_;
  bool stats_ = false;
  bool strict_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run(CLI::App& app) {
  return std::make_unique<RunCommand>(app);
}

}  // namespace vitrine::cli
