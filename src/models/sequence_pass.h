#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "models/model.h"

namespace vitrine::models {

// Feeds one sequence through a model, a chunk after the other, without an engine: it has a whole KV cache to itself,
// and the logits of every row are computed. Used by one thread; the model must outlive it.
class SequencePass {
 public:
  struct Limits {
    std::size_t max_tokens = 0;        // of the sequence
    std::size_t max_chunk_tokens = 0;  // of one call
  };
  // Positions below `prompt_tokens` are prompt rows. Throws base::Exception (kNoMemory) where the cache does not fit.
  SequencePass(const Model& model, Limits limits, std::size_t prompt_tokens, tensor::DType kv_type);

  void append(std::span<const TokenId> ids, ForwardObserver* observer);
  // Of a row of the last chunk, [vocab_size]; valid until the next one.
  std::span<const float> logits(std::size_t row_idx) { return workspace_->logits(row_idx); }

 private:
  const Model& model_;
  std::size_t prompt_tokens_;
  std::size_t length_ = 0;
  kvcache::KvCache cache_;
  std::unique_ptr<Workspace> workspace_;
  std::vector<kvcache::BlockId> block_table_;
};

}  // namespace vitrine::models
