#include "vitrine/stream_answer.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "vitrine/interrupt.h"
#include "vitrine/output.h"
#include "vitrine/prefill_progress.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

void note(const Context& context, const std::string& line) {
  if (!context.flags.quiet) context.err.print("vitrine: note: " + printable(line) + "\n");
}

}  // namespace

Answer stream_answer(const Context& context, Runtime& runtime, std::vector<TokenId> prompt,
                     const AnswerOptions& options, trace::Timeline& timeline) {
  PrefillProgress progress(context.err, context.flags.quiet);
  const InterruptScope interrupt;
  AnswerHooks hooks;
  hooks.on_prefill = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  hooks.stop = &interrupt.requested();
  if (!context.flags.json) {
    hooks.on_text = [&](std::string_view text) {
      progress.clear();
      context.out.print(context.out.is_tty() ? printable_lines(text) : std::string(text));
      std::fflush(context.out.stream());
    };
  }
  return answer_prompt(runtime, std::move(prompt), options, timeline, hooks);
}

std::vector<std::string> collect_warnings(const Runtime& runtime, const AnswerOptions& options) {
  std::vector<std::string> warnings = sampling::advice(options.sampling);
  warnings.insert(warnings.end(), runtime.warnings().begin(), runtime.warnings().end());
  return warnings;
}

void show_warnings(const Context& context, const GenerationFlags& flags, const std::vector<std::string>& warnings) {
  if (flags.strict && !warnings.empty()) {
    throw base::Exception(ErrorKind::kUsage, warnings.front() + "; an error because of --strict");
  }
  for (const std::string& line : warnings)
    note(context, line);
}

int report_answer(const Context& context, Runtime& runtime, const GenerationFlags& flags, const Answer& answer,
                  std::vector<std::string> warnings) {
  if (!answer.error.empty()) throw base::Exception(ErrorKind::kInternal, "answer: " + answer.error);
  if (!answer.length_note.empty()) warnings.push_back(answer.length_note);
  if (context.flags.json) {
    print_json(context, to_json(answer, runtime, warnings));
  } else {
    // Without a tokenizer there is no text: the ids are the answer.
    if (runtime.bundle().tokenizer == nullptr) context.out.print(fmt::format("{}", fmt::join(answer.token_ids, ",")));
    context.out.print("\n");
  }
  if (!answer.length_note.empty()) note(context, answer.length_note);
  if (flags.stats) print_stats(answer, runtime, context.err);
  return answer.finish_reason == "abort" ? static_cast<int>(ErrorKind::kInterrupted) : 0;
}

}  // namespace vitrine::cli
