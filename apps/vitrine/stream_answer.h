#pragma once

#include <string>
#include <vector>

#include "base/token_id.h"
#include "trace/timeline.h"
#include "vitrine/answer.h"
#include "vitrine/command.h"
#include "vitrine/generation_flags.h"
#include "vitrine/runtime.h"

namespace vitrine::cli {

// answer_prompt for a person: the text goes to stdout as it comes (not with --json), how far a long prompt is read to a
// terminal's stderr, and Ctrl-C stops the answer. On a terminal control characters of the text are shown as \xNN.
// Throws what answer_prompt throws.
Answer stream_answer(const Context& context, Runtime& runtime, std::vector<TokenId> prompt,
                     const AnswerOptions& options, trace::Timeline& timeline);

// What a person should know before an answer: advice on the parameters and how the model was loaded.
std::vector<std::string> collect_warnings(const Runtime& runtime, const AnswerOptions& options);

// Prints each warning as a note on stderr, unless --quiet. With --strict the first one is thrown (kUsage).
void show_warnings(const Context& context, const GenerationFlags& flags, const std::vector<std::string>& warnings);

// The end of a command that gives one answer: what is left to print of it (--json, --stats, a note on why it ended).
// The exit code; throws (kInternal) where the answer failed.
int report_answer(const Context& context, Runtime& runtime, const GenerationFlags& flags, const Answer& answer,
                  std::vector<std::string> warnings);

}  // namespace vitrine::cli
