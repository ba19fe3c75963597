#pragma once

#include <cstddef>

#include "models/model_config.h"
#include "tensor/dtype.h"
#include "tools/open_model.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

// What a model will take once loaded, by the sizes in its header: nothing of the weights is read for it.
struct MemoryNeed {
  std::size_t weights = 0;
  std::size_t kv_per_block = 0;  // of kvcache::kBlockTokens tokens
  std::size_t buffers = 0;       // activations, scratch, the program itself
  std::size_t kv_limit = 0;      // most bytes of KV cache (--kv-memory); 0: none but the context

  std::size_t kv(std::size_t context_length) const;
  std::size_t total(std::size_t context_length) const { return weights + buffers + kv(context_length); }
  // Most tokens of context with which it takes no more than this; 0: not even a block.
  std::size_t largest_context(std::size_t available_bytes) const;
};

// Bytes of KV cache for `num_sequences` of `context_length` tokens each, cut to half of what is available beside the
// rest, but never to less than one of them.
std::size_t shared_kv_bytes(const MemoryNeed& need, std::size_t context_length, std::size_t num_sequences,
                            std::size_t available_bytes);

// Throws base::Exception (kUsage) for a KV type that is none.
MemoryNeed memory_need(const tools::ModelBundle& bundle, const models::ModelConfig& config, tensor::DType kv_type,
                       const RuntimeFlags& flags);

// The context that was asked for, or the model's own cut to what `available_bytes` hold. Throws kNoMemory, with what
// would fit instead, or kUsage (longer than the model's).
std::size_t choose_context(const MemoryNeed& need, const models::ModelConfig& config, const RuntimeFlags& flags,
                           std::size_t available_bytes);

// What a model takes at most as it is going to run.
struct MemoryPlan {
  MemoryNeed need;
  tensor::DType kv_type = tensor::DType::kF16;
  std::size_t context_length = 0;  // tokens of one sequence
  std::size_t model_context_length = 0;
  std::size_t kv_bytes = 0;  // of the cache that all sequences share

  std::size_t total() const { return need.weights + need.buffers + kv_bytes; }
};
// Throws base::Exception as choose_context does, and kUsage for a flag that is no size or type.
MemoryPlan plan_memory(const tools::ModelBundle& bundle, const RuntimeFlags& flags, std::size_t available_bytes);

}  // namespace vitrine::cli
