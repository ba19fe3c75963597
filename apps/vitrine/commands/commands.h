#pragma once

#include <memory>

#include "vitrine/command.h"

// One maker per file of this folder; command_table.cpp gives each its row.
namespace vitrine::cli {

std::unique_ptr<Command> make_run(CLI::App& app);
std::unique_ptr<Command> make_pull(CLI::App& app);
std::unique_ptr<Command> make_list(CLI::App& app);
std::unique_ptr<Command> make_show(CLI::App& app);
std::unique_ptr<Command> make_rm(CLI::App& app);
std::unique_ptr<Command> make_completion(CLI::App& app);

}  // namespace vitrine::cli
