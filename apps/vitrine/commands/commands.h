#pragma once

#include <memory>

#include "vitrine/command.h"

// One maker per file of this folder; command_table.cpp gives each its row.
namespace vitrine::cli {

std::unique_ptr<Command> make_run(const Parser& parser);
std::unique_ptr<Command> make_chat(const Parser& parser);
std::unique_ptr<Command> make_serve(const Parser& parser);
std::unique_ptr<Command> make_keys(const Parser& parser);
std::unique_ptr<Command> make_usage(const Parser& parser);
std::unique_ptr<Command> make_trace(const Parser& parser);
std::unique_ptr<Command> make_explain(const Parser& parser);
std::unique_ptr<Command> make_pull(const Parser& parser);
std::unique_ptr<Command> make_list(const Parser& parser);
std::unique_ptr<Command> make_show(const Parser& parser);
std::unique_ptr<Command> make_plan(const Parser& parser);
std::unique_ptr<Command> make_rm(const Parser& parser);
std::unique_ptr<Command> make_template(const Parser& parser);
std::unique_ptr<Command> make_tokenize(const Parser& parser);
std::unique_ptr<Command> make_detokenize(const Parser& parser);
std::unique_ptr<Command> make_cost(const Parser& parser);
std::unique_ptr<Command> make_count(const Parser& parser);
std::unique_ptr<Command> make_train_bpe(const Parser& parser);
std::unique_ptr<Command> make_bench(const Parser& parser);
std::unique_ptr<Command> make_lab(const Parser& parser);
std::unique_ptr<Command> make_synth(const Parser& parser);
std::unique_ptr<Command> make_doctor(const Parser& parser);
std::unique_ptr<Command> make_compare(const Parser& parser);
std::unique_ptr<Command> make_completion(const Parser& parser);

}  // namespace vitrine::cli
