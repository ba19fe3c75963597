#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "vitrine/command.h"

namespace vitrine::cli {

// The parser with every command of the table. Owns the commands and the variables that their options write to.
class Program {
 public:
  Program();

  // Parses `words` (without the program's name) and runs the chosen command. Prints the result or the error and answers
  // the exit code; throws nothing.
  int run(std::vector<std::string> words);

  const CLI::App& app() const { return app_; }

 private:
  int parse_and_run(std::vector<std::string> words);

  CLI::App app_;
  CommonFlags flags_;
  std::vector<std::unique_ptr<Command>> commands_;  // as command_table()
};

// A parser's refusal as an error with the nearest right word.
base::Error explain_parse_error(const CLI::App& app, const CLI::ParseError& error);

// Prints "vitrine: MESSAGE" as one line on stderr.
void print_error(const base::Error& error);

}  // namespace vitrine::cli
