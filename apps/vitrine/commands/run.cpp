#include <utility>

#include "vitrine/commands/commands.h"
#include "vitrine/opened_prompt.h"
#include "vitrine/stream_answer.h"

namespace vitrine::cli {
namespace {

class RunCommand final : public Command {
 public:
  explicit RunCommand(const Parser& parser) {
    add_prompt_flags(parser, flags_.prompt);
    add_runtime_flags(parser, flags_.runtime);
    add_generation_flags(parser, flags_.generation);
  }

  int run(Context& context) override {
    trace::Timeline timeline;
    OpenedPrompt opened(context, flags_, timeline);
    const Answer answer = stream_answer(context, opened.runtime, std::move(opened.prompt), opened.options, timeline);
    return report_answer(context, opened.runtime, flags_.generation, answer, std::move(opened.warnings));
  }

 private:
  PromptCommandFlags flags_;
};

}  // namespace

std::unique_ptr<Command> make_run(const Parser& parser) {
  return std::make_unique<RunCommand>(parser);
}

}  // namespace vitrine::cli
