#pragma once

#include <cstddef>
#include <memory>

#include "models/model_config.h"
#include "plan/memory.h"
#include "tensor/dtype.h"
#include "tools/open_model.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

// The memory that a model will take as flags have it run, told by the sizes in its header.
class MemoryNeed {
 public:
  // Throws base::Exception: kUsage for a flag that is no size or type, kBadFile as loading would.
  MemoryNeed(const loader::ModelFiles& files, const RuntimeFlags& flags);
  // `network` and `backend` must outlive it.
  MemoryNeed(plan::Network network, std::unique_ptr<ops::MemoryModel> backend, const RuntimeFlags& flags);

  const models::ModelConfig& config() const { return network_->config; }
  tensor::DType kv_type() const { return kv_type_; }
  std::size_t kv_limit() const { return kv_limit_; }
  // All but the cache, for sequences of that length.
  plan::Memory memory(std::size_t context_length) const { return forecast_->at(context_length, max_sequences_); }
  std::size_t without_kv(std::size_t context_length) const { return memory(context_length).without_kv(); }
  // Of one sequence; no more than --kv-memory allows.
  std::size_t kv(std::size_t context_length) const;
  std::size_t total(std::size_t context_length) const { return without_kv(context_length) + kv(context_length); }
  // Most tokens of context with which it takes no more than this; 0: not even a block.
  std::size_t largest_context(std::size_t available_bytes) const;

 private:
  std::unique_ptr<const ops::MemoryModel> backend_;
  std::unique_ptr<const plan::Network> network_;
  std::unique_ptr<const plan::MemoryForecast> forecast_;
  tensor::DType kv_type_ = tensor::DType::kF16;
  std::size_t max_sequences_ = 1;
  std::size_t kv_limit_ = 0;  // most bytes of KV cache (--kv-memory); 0: none but the context
};

// Bytes of KV cache for `num_sequences` of `context_length` tokens each, cut to half of what is available beside the
// rest, but never to less than one of them.
std::size_t shared_kv_bytes(const MemoryNeed& need, std::size_t context_length, std::size_t num_sequences,
                            std::size_t available_bytes);

// The context that was asked for, or the model's own cut to what `available_bytes` hold. Throws kNoMemory, with what
// would fit instead, or kUsage (longer than the model's).
std::size_t choose_context(const MemoryNeed& need, const RuntimeFlags& flags, std::size_t available_bytes);

// What a model takes at most as it is going to run.
struct MemoryPlan {
  plan::Memory memory;
  tensor::DType kv_type = tensor::DType::kF16;
  std::size_t context_length = 0;  // tokens of one sequence
  std::size_t model_context_length = 0;
  std::size_t kv_bytes = 0;  // of the cache that all sequences share

  std::size_t total() const { return memory.without_kv() + kv_bytes; }
};
// Throws base::Exception as MemoryNeed and choose_context do.
MemoryPlan plan_memory(const MemoryNeed& need, const RuntimeFlags& flags, std::size_t available_bytes);

}  // namespace vitrine::cli
