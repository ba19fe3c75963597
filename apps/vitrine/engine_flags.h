#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/parser.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

// How `vitrine serve` runs the engine of a model: what its flags say for all models, and a table [models.NAME] of the
// settings for one.
struct EngineFlags {
  EngineFlags();

  RuntimeFlags runtime;
  std::string prefix_cache;  // as it was given; empty: it was not
  bool is_unbatched = false;
  std::string chat_template;                  // a file to take in place of the model's own; empty: none
  std::optional<std::size_t> keep_alive_s;    // absent: it stays loaded
  std::optional<std::size_t> max_queue = {};  // absent: the server's default

  // What the flags say together. Throws base::Exception (kUsage) where they contradict each other.
  RuntimeFlags resolved() const;
};
void add_engine_flags(const Parser& parser, EngineFlags& flags);

// The names that add_engine_flags gives them, without the hyphens before them: "ctx", "kv-type".
std::vector<std::string> engine_flag_names();
// Sets what words such as "--ctx=4096" say. Throws base::Exception (kUsage) with the reason alone.
void apply_engine_words(const std::vector<std::string>& words, EngineFlags& flags);

}  // namespace vitrine::cli
