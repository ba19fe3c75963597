#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/open_model.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

// What a model takes of a memory that it shares with others.
struct MemoryClaim {
  std::size_t fixed_bytes = 0;   // weights and buffers
  std::size_t useful_bytes = 0;  // the same with a context long enough for a conversation
  bool is_pinned = false;        // loaded all the time
};

// Each model's share. Models that have room together get what is left beside their weights in equal parts; where they
// have not, each gets all that the pinned ones leave, and they take turns.
std::vector<std::size_t> share_memory(const std::vector<MemoryClaim>& claims, std::size_t memory_bytes);

// A model of `vitrine serve`, and how it is going to run.
struct PlannedModel {
  std::string name;  // for clients
  std::filesystem::path path;
  bool is_pinned = false;
  std::string chat_template = {};  // a file to take in place of its own; empty: none
  RuntimeFlags flags = {};         // plan_models adds its share of the memory
  std::size_t context_length = 0;  // tokens of one sequence
  std::size_t bytes = 0;           // the most that it takes once loaded
};

// Does `work`, whose refusals say which model they are about where it is not alone.
template <typename Work>
void naming_model(const std::string& name, bool is_alone, Work work) {
  try {
    work();
  } catch (const base::Exception& exception) {
    if (is_alone) throw;
    throw base::Exception(exception.error().kind, name + ": " + exception.what());
  }
}

// Opens the models, sets `flags.memory_bytes`, `context_length` and `bytes`, and gives what it opened, in the same
// order. Throws base::Exception: kNoMemory with what would fit, or whatever a file is refused for.
std::vector<tools::ModelBundle> plan_models(std::vector<PlannedModel>& models, std::size_t memory_bytes);

}  // namespace vitrine::cli
