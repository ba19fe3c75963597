#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "ops/memory_model.h"
#include "plan/network.h"
#include "tensor/dtype.h"

namespace vitrine::plan {

// What a process takes of memory once its largest step has come and its sequences are full. In bytes.
struct Memory {
  std::size_t weights = 0;       // packed, with what is computed from the file's memory and the tables looked up in it
  std::size_t kv = 0;            // of the tokens held, windowed layers by their window
  std::size_t kv_allocated = 0;  // of the blocks that hold them
  std::size_t activations = 0;
  std::size_t scratch = 0;
  std::size_t other = 0;  // the program, its libraries and threads, the tokenizer, the file's header, pages taken whole

  std::size_t without_kv() const { return weights + activations + scratch + other; }
  std::size_t total() const { return without_kv() + kv_allocated; }
};

// How a model is going to run.
struct RunSizes {
  tensor::DType kv_type = tensor::DType::kF16;
  std::size_t max_chunk_tokens = 512;  // prompt rows of a step
  std::size_t num_threads = 1;
};

// The memory of a model, reckoned from its sizes. `run` and `serve` refuse by it, `plan` shows it. The network and the
// backend must outlive it. Const: callable from any thread.
class MemoryForecast {
 public:
  // Fails (kUsage) for a KV type that the model's heads do not fit.
  static base::Result<MemoryForecast> create(const Network& network, const ops::MemoryModel& backend,
                                             const RunSizes& sizes);

  // `num_sequences` at once, each of up to context_length tokens, all of them full.
  Memory at(std::size_t context_length, std::size_t num_sequences) const;
  std::size_t kv_allocated(std::size_t context_length) const;  // of one sequence
  std::size_t block_bytes() const { return kv_allocated(1); }

  // Most tokens with which so many full sequences take no more than this: a whole number of blocks, at most
  // context_limit; 0: none.
  std::size_t max_context(std::size_t available_bytes, std::size_t num_sequences, std::size_t context_limit) const;
  // Most sequences of that length at once; 0: not even one.
  std::size_t max_sequences(std::size_t available_bytes, std::size_t context_length) const;

 private:
  MemoryForecast(const Network& network, const ops::MemoryModel& backend, const RunSizes& sizes,
                 std::size_t kv_row_bytes);

  const Network& network_;
  const ops::MemoryModel& backend_;
  RunSizes sizes_;
  std::size_t kv_row_bytes_;
  std::vector<ops::MatrixSize> different_matrices_;  // those of which another has all sizes are left out
  std::size_t weights_ = 0;
  std::size_t fixed_other_ = 0;
};

// Prompt rows of the largest step: no more than the sequences have tokens.
std::size_t max_prompt_rows(std::size_t max_chunk_tokens, std::size_t context_length, std::size_t num_sequences);

// The largest count from 1 to `limit` for which `fits` holds, 0 where it holds for none. It must not hold again above
// where it does not.
std::size_t largest_that_fits(std::size_t limit, const std::function<bool(std::size_t)>& fits);

}  // namespace vitrine::plan
