#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "base/result.h"
#include "vitrine/parser.h"

namespace vitrine::cli {

// How a command wants its model to run, bound to flags by add_runtime_flags.
struct RuntimeFlags {
  std::size_t context_length = 0;  // 0: the model's own, or as much of it as memory allows
  std::size_t num_threads = 0;     // 0: all that this process may use
  std::string kv_type = "f16";
  std::size_t memory_bytes = std::numeric_limits<std::size_t>::max();  // most that the model takes of what is free
  std::string kv_memory;          // "4GiB"; empty: max_sequences of context_length tokens, or what memory holds of them
  std::size_t max_sequences = 1;  // that run at once
  std::size_t max_chunk_tokens = 512;
  std::size_t target_gap_ms = 0;  // between two tokens of an answer, beside long prompts; 0: engine's choice
  bool no_prefix_cache = false;
  bool settle_answers = false;  // these three: see engine::EngineConfig
  bool publish_answers = false;
  bool static_batches = false;
  bool no_kv_cache = false;
  bool contiguous_kv = false;
  bool pin_threads = false;
  bool reference = false;  // everything in plain float32
  bool no_repack_cache = false;
};
void add_runtime_flags(const Parser& parser, RuntimeFlags& flags);

// "512MiB", "4G", "1000000": bytes. Fails with kUsage.
base::Result<std::size_t> parse_bytes(const std::string& text, const std::string& flag);

}  // namespace vitrine::cli
