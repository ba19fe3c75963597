#pragma once

#include <string>
#include <vector>

namespace vitrine::cli {

// Parses `words` (without the program's name) and runs the command that they choose. Prints the result or the error and
// answers the exit code; throws nothing.
int run_program(std::vector<std::string> words);

}  // namespace vitrine::cli
