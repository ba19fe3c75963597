#include <array>

#include "vitrine/command.h"
#include "vitrine/commands/commands.h"

namespace vitrine::cli {
namespace {

// name, group, one-line help, two examples, maker
constexpr std::array kCommands = {
    CommandEntry{"completion", "Shell", "Print the completion script of a shell", "source <(vitrine completion bash)",
                 "vitrine completion fish > ~/.config/fish/completions/vitrine.fish", make_completion},
};

}  // namespace

std::span<const CommandEntry> command_table() {
  return kCommands;
}

}  // namespace vitrine::cli
