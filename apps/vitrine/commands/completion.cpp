#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "vitrine/commands/commands.h"

// Completion scripts written from the parser itself, so that they can't name a flag that does not exist. Model names
// are asked from `vitrine list --quiet` (and `vitrine pull --quiet` for the catalog) when the user presses Tab.
namespace vitrine::cli {
namespace {

bool takes_model(const CommandInfo& command) {
  return std::ranges::any_of(command.flags, [](const FlagInfo& flag) { return flag.positional == "model"; });
}

std::string candidates(const CommandInfo& command) {
  std::vector<std::string> words;
  for (const CommandInfo& sub : command.commands)
    words.push_back(sub.name);
  for (const FlagInfo& flag : command.flags)
    words.insert(words.end(), flag.names.begin(), flag.names.end());
  return fmt::format("{}", fmt::join(words, " "));
}

// In single quotes of a shell.
std::string shell_quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string model_lister(const CommandInfo& command) {
  if (!takes_model(command)) return "";
  return command.name == "pull" ? "vitrine pull --quiet 2>/dev/null" : "vitrine list --quiet 2>/dev/null";
}

std::string bash_case(const CommandInfo& command) {
  const std::string lister = model_lister(command);
  const std::string models = lister.empty() ? "" : fmt::format(" $({})", lister);
  return fmt::format("    {}) words=\"{}{}\" ;;\n", command.name, candidates(command), models);
}

std::string bash_script(const CommandInfo& program) {
  std::string cases;
  for (const CommandInfo& command : program.commands)
    cases += bash_case(command);
  return fmt::format(
      "_vitrine() {{\n"
      "  local words word=\"${{COMP_WORDS[COMP_CWORD]}}\" command=\"${{COMP_WORDS[1]}}\"\n"
      "  [ \"$COMP_CWORD\" -eq 1 ] && command=\n"
      "  case \"$command\" in\n"
      "    '') words=\"{}\" ;;\n"
      "{}"
      "    *) words= ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}}\n"
      "complete -o default -F _vitrine vitrine\n",
      candidates(program), cases);
}

// zsh's _arguments and _describe read ':' and brackets as syntax.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_arguments(const CommandInfo& command) {
  std::string lines;
  for (const FlagInfo& flag : command.flags) {
    const char* value = flag.takes_value ? ":value:_files" : "";
    for (const std::string& word : flag.names) {
      lines += fmt::format(" \\\n        {}", shell_quote(fmt::format("{}[{}]{}", word, zsh_text(flag.help), value)));
    }
  }
  const std::string lister = model_lister(command);
  const std::string models = lister.empty() ? "_files" : fmt::format("{{compadd -- $({}); _files}}", lister);
  return lines + fmt::format(" \\\n        {}", shell_quote("*::" + std::string("argument:") + models));
}

std::string zsh_script(const CommandInfo& program) {
  std::string names;
  std::string cases;
  for (const CommandInfo& command : program.commands) {
    names += fmt::format("    {}\n", shell_quote(zsh_text(command.name) + ":" + zsh_text(command.help)));
    cases += fmt::format("      {})\n      _arguments{}\n      ;;\n", command.name, zsh_arguments(command));
  }
  return fmt::format(
      "#compdef vitrine\n"
      "_vitrine() {{\n"
      "  local -a commands\n"
      "  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "  else\n"
      "    case \"$words[2]\" in\n{}    esac\n"
      "  fi\n"
      "}}\n"
      "compdef _vitrine vitrine\n",
      names, cases);
}

std::string fish_option(const CommandInfo& command, const FlagInfo& flag) {
  std::string names;
  for (const std::string& name : flag.names)
    names += (name.starts_with("--") ? " -l " : " -s ") + name.substr(name.starts_with("--") ? 2 : 1);
  if (names.empty()) return "";
  const char* value = flag.takes_value ? " -r" : "";
  return fmt::format("complete -c vitrine -n '__fish_seen_subcommand_from {}'{}{} -d {}\n", command.name, names, value,
                     shell_quote(flag.help));
}

std::string fish_script(const CommandInfo& program) {
  std::string lines;
  for (const CommandInfo& command : program.commands) {
    lines += fmt::format("complete -c vitrine -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                         shell_quote(command.help));
    for (const FlagInfo& flag : command.flags)
      lines += fish_option(command, flag);
    const std::string lister = model_lister(command);
    if (lister.empty()) continue;
    lines += fmt::format("complete -c vitrine -n '__fish_seen_subcommand_from {}' -a '({})'\n", command.name, lister);
  }
  return lines;
}

class CompletionCommand final : public Command {
 public:
  explicit CompletionCommand(const Parser& parser) {
    parser.add("shell", shell_, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  }

  int run(Context& context) override {
    const auto write = shell_ == "bash" ? bash_script : shell_ == "zsh" ? zsh_script : fish_script;
    context.out.print(write(context.parser.describe()));
    return 0;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion(const Parser& parser) {
  return std::make_unique<CompletionCommand>(parser);
}

}  // namespace vitrine::cli
