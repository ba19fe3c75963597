#include "vitrine/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/result.h"
#include "tools/suggest.h"
#include "vitrine/command.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

constexpr std::string_view kAbout = "Vitrine runs language models on this machine and shows every stage of its work.";

void add_common(CLI::App& app, CommonFlags& flags) {
  app.add_flag("--json", flags.json, "Print one JSON object on stdout and nothing else there")->group("Common");
  app.add_flag("-q,--quiet", flags.quiet, "No progress and no advice")->group("Common");
  app.add_flag("-y,--yes", flags.yes, "Answer yes to every question")->group("Common");
  app.get_formatter()->column_width(38);
}

// The deepest command that the words name so far.
const CLI::App& chosen(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : chosen(*parsed.back());
}

std::string full_name(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string& name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr))
    names.push_back(command->get_name());
  return names;
}

base::Error unexpected_word(const CLI::App& app, const std::string& word) {
  const bool is_flag = word.starts_with("-");
  const bool is_command = !is_flag && !command_names(app).empty();
  const std::string bare = word.substr(0, is_flag ? word.find('=') : word.size());
  const auto near = tools::nearest(bare, is_flag ? flag_names(app) : command_names(app));
  const std::string fix = near ? fmt::format("did you mean {}?", *near) : fmt::format("see {} --help", full_name(app));
  const char* what = is_flag ? "flag" : is_command ? "command" : "argument";
  if (!is_flag && !is_command) {
    return base::usage_error(
        fmt::format("{}: one argument too many for '{}'; put text with spaces in quotes", bare, full_name(app)));
  }
  return base::usage_error(fmt::format("{}: no such {} of '{}'; {}", bare, what, full_name(app), fix));
}

// "vitrine: MESSAGE" as one line on stderr.
void print_error(const base::Error& error) {
  std::fflush(stdout);
  const std::string line = fmt::format("vitrine: {}\n", printable(error.message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// A full disk must not look like success; a reader that went away (EPIPE) has had enough, which is no fault.
int check_stdout(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (errno == EPIPE) return code;
  print_error({ErrorKind::kIo, fmt::format("stdout: {}; free some space or write elsewhere", std::strerror(errno))});
  return static_cast<int>(ErrorKind::kIo);
}

// "vitrine help pull" is what people type who know git.
void rewrite_help(std::vector<std::string>& words) {
  if (words.empty()) {
    words.emplace_back("--help");
  } else if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
}

// A parser's refusal as an error with the nearest right word.
base::Error explain_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen(app);
  const auto remaining = command.remaining();
  // A word that fits nowhere is the likeliest reason for a missing one too.
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if ((is_extra || is_missing) && !remaining.empty()) return unexpected_word(command, remaining.front());
  if (is_missing && command.get_parent() == nullptr) return base::usage_error("no command given; see vitrine --help");
  std::string reason = error.what();
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '.'))
    reason.pop_back();
  return base::usage_error(fmt::format("{}: {}; see {} --help", command.get_name(), reason, full_name(command)));
}

// The parser with every command of the table. Owns the commands and the variables that their options write to.
class Program {
 public:
  Program();
  int run(std::vector<std::string> words);

 private:
  CLI::App app_;
  CommonFlags flags_;
  std::vector<std::unique_ptr<Command>> commands_;  // as command_table()
};

Program::Program() : app_(std::string(kAbout), "vitrine") {
  app_.set_version_flag("--version", std::string("vitrine ") + VITRINE_VERSION, "Print the version");
  app_.set_help_flag("-h,--help", "Print this help");
  app_.require_subcommand(1);
  app_.footer("vitrine COMMAND --help shows the flags and two examples of a command.");
  add_common(app_, flags_);
  for (const CommandEntry& entry : command_table()) {
    CLI::App* command = app_.add_subcommand(std::string(entry.name), std::string(entry.help));
    command->group(std::string(entry.group));
    command->footer(fmt::format("Examples:\n  {}\n  {}", entry.first_example, entry.second_example));
    commands_.push_back(entry.make(Parser(*command)));
    add_common(*command, flags_);
  }
}

int Program::run(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app_.parse(std::move(words));
  } catch (const CLI::Success& success) {  // --help, --version
    return app_.exit(success);
  } catch (const CLI::ParseError& error) {
    print_error(explain_parse_error(app_, error));
    return static_cast<int>(ErrorKind::kUsage);
  }
  Context context{flags_, app_, Terminal(stdout), Terminal(stderr)};
  const std::string& name = app_.get_subcommands().front()->get_name();
  const auto table = command_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return commands_[i]->run(context);
  }
  throw base::Exception(ErrorKind::kInternal, name + ": command without a row in the table");
}

}  // namespace

int run_program(std::vector<std::string> words) {
  try {
    rewrite_help(words);
    return check_stdout(Program().run(std::move(words)));
  } catch (const base::Exception& exception) {
    print_error(exception.error());
    return static_cast<int>(exception.error().kind);
  } catch (const std::bad_alloc&) {
    print_error(
        {ErrorKind::kNoMemory, "memory: the machine has no more to give; close other programs or use a smaller model"});
    return static_cast<int>(ErrorKind::kNoMemory);
  } catch (const std::exception& exception) {
    print_error(
        {ErrorKind::kInternal, fmt::format("internal error: {}; this is a fault of Vitrine", exception.what())});
    return static_cast<int>(ErrorKind::kInternal);
  }
}

}  // namespace vitrine::cli
