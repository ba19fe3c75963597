#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "vitrine/commands/commands.h"

// Completion scripts written from the parser itself, so that they can't name a flag that does not exist. Model names
// are asked from `vitrine list --quiet` (and `vitrine pull --quiet` for the catalog) when the user presses Tab.
namespace vitrine::cli {
namespace {

std::vector<std::string> words_of(const CLI::Option& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.get_lnames())
    words.push_back("--" + name);
  for (const std::string& name : option.get_snames())
    words.push_back("-" + name);
  return words;
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands(nullptr);
}

bool takes_model(const CLI::App& command) {
  const auto options = command.get_options();
  return std::any_of(options.begin(), options.end(), [](const CLI::Option* option) {
    return option->get_positional() && option->get_name(true) == "model";
  });
}

std::string candidates(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* sub : subcommands(command))
    words.push_back(sub->get_name());
  for (const CLI::Option* option : command.get_options()) {
    for (std::string& word : words_of(*option))
      words.push_back(std::move(word));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// In single quotes of a shell.
std::string shell_quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string model_lister(const CLI::App& command) {
  if (!takes_model(command)) return "";
  return command.get_name() == "pull" ? "vitrine pull --quiet 2>/dev/null" : "vitrine list --quiet 2>/dev/null";
}

std::string bash_case(const CLI::App& command) {
  const std::string lister = model_lister(command);
  const std::string models = lister.empty() ? "" : fmt::format(" $({})", lister);
  return fmt::format("    {}) words=\"{}{}\" ;;\n", command.get_name(), candidates(command), models);
}

std::string bash_script(const CLI::App& program) {
  std::string cases;
  for (const CLI::App* command : subcommands(program))
    cases += bash_case(*command);
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

std::string zsh_arguments(const CLI::App& command) {
  std::string lines;
  for (const CLI::Option* option : command.get_options()) {
    const char* value = option->get_items_expected_max() > 0 ? ":value:_files" : "";
    for (const std::string& word : words_of(*option)) {
      lines += fmt::format(" \\\n        {}",
                           shell_quote(fmt::format("{}[{}]{}", word, zsh_text(option->get_description()), value)));
    }
  }
  const std::string lister = model_lister(command);
  const std::string models = lister.empty() ? "_files" : fmt::format("{{compadd -- $({}); _files}}", lister);
  return lines + fmt::format(" \\\n        {}", shell_quote("*::" + std::string("argument:") + models));
}

std::string zsh_script(const CLI::App& program) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : subcommands(program)) {
    names += fmt::format("    {}\n",
                         shell_quote(zsh_text(command->get_name()) + ":" + zsh_text(command->get_description())));
    cases += fmt::format("      {})\n      _arguments{}\n      ;;\n", command->get_name(), zsh_arguments(*command));
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

std::string fish_option(const CLI::App& command, const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_lnames())
    names += " -l " + name;
  for (const std::string& name : option.get_snames())
    names += " -s " + name;
  if (names.empty()) return "";
  const char* value = option.get_items_expected_max() > 0 ? " -r" : "";
  return fmt::format("complete -c vitrine -n '__fish_seen_subcommand_from {}'{}{} -d {}\n", command.get_name(), names,
                     value, shell_quote(option.get_description()));
}

std::string fish_script(const CLI::App& program) {
  std::string lines;
  for (const CLI::App* command : subcommands(program)) {
    lines += fmt::format("complete -c vitrine -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                         shell_quote(command->get_description()));
    for (const CLI::Option* option : command->get_options())
      lines += fish_option(*command, *option);
    const std::string lister = model_lister(*command);
    if (lister.empty()) continue;
    lines +=
        fmt::format("complete -c vitrine -n '__fish_seen_subcommand_from {}' -a '({})'\n", command->get_name(), lister);
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
    context.out.print(write(context.program));
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
