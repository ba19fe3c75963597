#include "vitrine/opened_prompt.h"

#include "vitrine/stream_answer.h"

namespace vitrine::cli {

OpenedPrompt::OpenedPrompt(const Context& context, const PromptCommandFlags& flags, trace::Timeline& timeline)
    : options(flags.generation.options()),
      given(take_prompt(flags.prompt, models)),
      runtime(models.find_or_pull(given.model, context).path.string(), flags.runtime, timeline),
      prompt(prompt_ids(runtime, flags.prompt, given.text, timeline)),
      warnings(collect_warnings(runtime, options)) {
  show_warnings(context, flags.generation, warnings);
}

}  // namespace vitrine::cli
