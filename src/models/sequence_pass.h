#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "models/model.h"

namespace vitrine::models {

// Feeds one sequence through a model, a chunk after the other, without an engine: it has a whole KV cache to itself,
// and the logits of its last rows are computed. Used by one thread; the model must outlive it.
class SequencePass {
 public:
  struct Limits {
    std::size_t max_tokens = 0;        // of the sequence
    std::size_t max_chunk_tokens = 0;  // of one call
    std::size_t max_logit_rows = 0;    // whose logits one call may ask for
  };
  // Positions below `prompt_tokens` are prompt rows. Throws base::Exception (kNoMemory) where the cache does not fit.
  SequencePass(const Model& model, Limits limits, std::size_t prompt_tokens, tensor::DType kv_type);

  // Computes the logits of the last `num_logit_rows` of the chunk.
  void append(std::span<const TokenId> ids, std::size_t num_logit_rows, ForwardObserver* observer);
  // Final norm and head of rows of the residual stream, [num_rows, hidden_size]; their logits are as those of a chunk.
  void score(std::span<const float> hidden) { model_.score(hidden, *workspace_); }
  // Of a row that was scored by the last call, [vocab_size]; valid until the next one.
  std::span<const float> logits(std::size_t logit_row_idx) { return workspace_->logits(logit_row_idx); }

  std::size_t length() const { return length_; }
  const kvcache::KvCache& cache() const { return cache_; }
  // Where position p of the sequence lies: block p / kBlockTokens of it.
  std::span<const kvcache::BlockId> block_table() const { return block_table_; }

 private:
  const Model& model_;
  std::size_t prompt_tokens_;
  std::size_t length_ = 0;
  kvcache::KvCache cache_;
  std::unique_ptr<Workspace> workspace_;
  std::vector<kvcache::BlockId> block_table_;
};

}  // namespace vitrine::models
