#include "vitrine/opened_prompt.h"

#include "vitrine/models.h"
#include "vitrine/stream_answer.h"

namespace vitrine::cli {
namespace {

std::string path_of(const std::string& model, const Context& context) {
  return Models().find_or_pull(model, context).path.string();
}

}  // namespace

OpenedPrompt::OpenedPrompt(const Context& context, const PromptCommandFlags& flags, trace::Timeline& timeline)
    : options(flags.generation.options()),
      given(take_prompt(flags.prompt, Models())),
      runtime(path_of(given.model, context), flags.runtime, timeline),
      prompt(prompt_ids(runtime, flags.prompt, given.text, timeline)),
      warnings(collect_warnings(runtime, options)) {
  show_warnings(context, flags.generation, warnings);
}

}  // namespace vitrine::cli
