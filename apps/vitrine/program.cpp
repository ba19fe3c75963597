#include "vitrine/program.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>

#include <fmt/format.h>

#include "base/result.h"
#include "vitrine/command.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

constexpr const char* kAbout = "Vitrine runs language models on this machine and shows every stage of its work.";

void add_common(const Parser& parser, CommonFlags& flags) {
  parser.add_switch("--json", flags.json, "Print one JSON object on stdout and nothing else there").group("Common");
  parser.add_switch("-q,--quiet", flags.quiet, "No progress and no advice").group("Common");
  parser.add_switch("-y,--yes", flags.yes, "Answer yes to every question").group("Common");
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

// The parser with every command of the table. Owns the commands and the variables that their options write to.
class Program {
 public:
  Program();
  int run(std::vector<std::string> words);

 private:
  RootParser parser_;
  CommonFlags flags_;
  std::vector<std::unique_ptr<Command>> commands_;  // as command_table()
};

Program::Program() : parser_(kAbout, "vitrine " VITRINE_VERSION) {
  add_common(parser_.top(), flags_);
  for (const CommandEntry& entry : command_table()) {
    const Parser parser =
        parser_.add_command(std::string(entry.name), std::string(entry.help), std::string(entry.group),
                            fmt::format("Examples:\n  {}\n  {}", entry.first_example, entry.second_example));
    commands_.push_back(entry.make(parser));
    add_common(parser, flags_);
  }
}

int Program::run(std::vector<std::string> words) {
  const std::optional<std::string> name = parser_.parse(std::move(words));
  if (!name) return 0;
  Context context{flags_, parser_, Terminal(stdout), Terminal(stderr)};
  const auto table = command_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == *name) return commands_[i]->run(context);
  }
  throw base::Exception(ErrorKind::kInternal, *name + ": command without a row in the table");
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
