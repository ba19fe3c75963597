#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "vitrine/parser.h"
#include "vitrine/terminal.h"

namespace vitrine::cli {

// Flags that every command has. Bound to the parser of each command and of the program itself.
struct CommonFlags {
  bool json = false;   // one JSON object on stdout and nothing else there
  bool quiet = false;  // no progress, no advice; plain names where a list would be printed
  bool yes = false;    // answer yes to every question
};

// What a running command may ask for. Lives as long as main does.
struct Context {
  const CommonFlags& flags;
  const RootParser& parser;  // of the whole command line: completion is written from it
  Terminal out;
  Terminal err;
};

// One subcommand. The constructor of each implementation binds its options to members; run() is called once, after a
// successful parse, and answers the exit code. Errors are thrown as base::Exception and printed by run_program.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
  virtual int run(Context& context) = 0;
};

using MakeCommand = std::unique_ptr<Command> (*)(const Parser& parser);

// A row of the command table.
struct CommandEntry {
  std::string_view name;
  std::string_view group;
  std::string_view help;  // one line
  std::string_view first_example;
  std::string_view second_example;
  MakeCommand make;
};

// Every command in the order of --help. The table is in command_table.cpp.
std::span<const CommandEntry> command_table();

}  // namespace vitrine::cli
