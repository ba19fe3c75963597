#pragma once

#include <string>
#include <vector>

#include "vitrine/command.h"
#include "vitrine/generation_flags.h"
#include "vitrine/models.h"
#include "vitrine/prompt_flags.h"
#include "vitrine/runtime.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

// What a command with a prompt is asked to do.
struct PromptCommandFlags {
  PromptFlags prompt;
  RuntimeFlags runtime;
  GenerationFlags generation;
};

// The start that run and trace share: the model is found (and fetched where it is only named) and loaded, the prompt
// made into ids, and warnings are shown. Spans go to `timeline`. Throws base::Exception.
struct OpenedPrompt {
  OpenedPrompt(const Context& context, const PromptCommandFlags& flags, trace::Timeline& timeline);

  AnswerOptions options;
  Models models;
  GivenPrompt given;
  Runtime runtime;
  std::vector<TokenId> prompt;
  std::vector<std::string> warnings;
};

}  // namespace vitrine::cli
