#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "models/model.h"

namespace vitrine::tools {

enum class BenchPhase { kPrefill, kDecode };

// One thing to measure: every one of `batch` sequences already holds `depth` tokens and gets `num_tokens` more, as
// prompt rows or, a row a step, as generated ones.
struct BenchCase {
  BenchPhase phase = BenchPhase::kPrefill;
  std::size_t num_tokens = 0;
  std::size_t depth = 0;
  std::size_t batch = 1;
};

// Runs a model alone: no tokenizer, no scheduler, no sampling; tokens are arbitrary but the same in every run. Logits
// are computed for the last row of a prompt and for every generated row. Used by one thread.
class ModelBench {
 public:
  struct Options {
    tensor::DType kv_type = tensor::DType::kF16;
    std::size_t max_chunk_tokens = 512;  // prompt rows in a step
    std::size_t max_batch = 1;
    std::size_t max_tokens = 0;  // depth and tokens of the longest case
  };
  // Throws base::Exception (kNoMemory) where the KV cache does not fit.
  ModelBench(const models::Model& model, const Options& options);

  // Seconds of one run. The tokens at `depth` are computed first, not counted and not observed.
  double run(const BenchCase& what, models::ForwardObserver* observer = nullptr);
  // Bytes that one step of a decoding case reads: all weights once (of experts those that the batch is expected to
  // choose), and the keys and values of every sequence at the middle of the run, sliding windows apart.
  double bytes_per_step(const BenchCase& what) const;

 private:
  void prefill(std::size_t sequence_idx, std::size_t first_position, std::size_t num_tokens);
  void fill(std::size_t batch, std::size_t depth);
  void decode_step(const BenchCase& what, std::size_t step_idx);
  models::SequenceRows rows_of(std::size_t sequence_idx, std::size_t first_position, std::size_t num_rows,
                               std::size_t prompt_tokens) const;

  const models::Model& model_;
  Options options_;
  kvcache::KvCache cache_;
  std::unique_ptr<models::Workspace> workspace_;
  std::vector<std::vector<kvcache::BlockId>> block_tables_;  // [max_batch]
  models::ForwardBatch batch_;
  models::ForwardObserver* observer_ = nullptr;  // of the run under way
  std::size_t filled_batch_ = 0;
  std::size_t filled_depth_ = 0;
};

}  // namespace vitrine::tools
