#pragma once

#include <memory>

#include "vitrine/command.h"

// One maker per file of this folder; command_table.cpp gives each its row.
namespace vitrine::cli {

std::unique_ptr<Command> make_run(CLI::App& app);
std::unique_ptr<Command> make_chat(CLI::App& app);
std::unique_ptr<Command> make_trace(CLI::App& app);
std::unique_ptr<Command> make_pull(CLI::App& app);
std::unique_ptr<Command> make_list(CLI::App& app);
std::unique_ptr<Command> make_show(CLI::App& app);
std::unique_ptr<Command> make_rm(CLI::App& app);
std::unique_ptr<Command> make_template(CLI::App& app);
std::unique_ptr<Command> make_tokenize(CLI::App& app);
std::unique_ptr<Command> make_detokenize(CLI::App& app);
std::unique_ptr<Command> make_count(CLI::App& app);
std::unique_ptr<Command> make_bench(CLI::App& app);
std::unique_ptr<Command> make_completion(CLI::App& app);

}  // namespace vitrine::cli
