#include <array>

#include "vitrine/command.h"
#include "vitrine/commands/commands.h"

namespace vitrine::cli {
namespace {

// name, group, one-line help, two examples, maker
constexpr std::array kCommands = {
    CommandEntry{"run", "Answers", "Complete a text", "vitrine run smollm2-135m-instruct \"The KV cache is\" -n 40",
                 "echo \"Once upon a time\" | vitrine run ./model.gguf --temperature 0 --stats", make_run},
    CommandEntry{"pull", "Models", "Fetch a model, or list what fits this machine",
                 "vitrine pull smollm2-135m-instruct", "vitrine pull hf:Qwen/Qwen3-0.6B-GGUF", make_pull},
    CommandEntry{"list", "Models", "List the models on disk", "vitrine list", "vitrine list --json", make_list},
    CommandEntry{"show", "Models", "Show what is inside a model file", "vitrine show smollm2-135m-instruct",
                 "vitrine show ./model.gguf --json", make_show},
    CommandEntry{"rm", "Models", "Remove a model from disk", "vitrine rm gemma-3-270m", "vitrine rm gemma-3-270m --yes",
                 make_rm},
    CommandEntry{"completion", "Shell", "Print the completion script of a shell", "source <(vitrine completion bash)",
                 "vitrine completion fish > ~/.config/fish/completions/vitrine.fish", make_completion},
};

}  // namespace

std::span<const CommandEntry> command_table() {
  return kCommands;
}

}  // namespace vitrine::cli
