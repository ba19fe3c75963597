#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "kvcache/kv_cache.h"
#include "models/forward_batch.h"
#include "models/model_config.h"
#include "ops/observed_backend.h"

namespace vitrine::models {

// Sees the values between the parts of a forward pass: `values` is [num_rows, width] float32, valid during the call.
// Names: "embedding", "hidden_00" (as it enters layer 0) to "hidden_NN" (after layer NN), "final_norm", "logits".
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;
  virtual void on_values(std::string_view name, std::span<const float> values, std::size_t width) = 0;
  // Who is to be told of every operation as well; null: nobody.
  virtual ops::OpObserver* op_observer() { return nullptr; }
};

// Buffers of a forward pass, sized once for the largest step. Made by Model::make_workspace, owned by the runner, used
// by one thread at a time.
class Workspace {
 public:
  virtual ~Workspace() = default;
  // Logits of the last forward pass, [num_logit_rows, vocab_size]; valid until the next one. The sampler may change
  // them.
  virtual std::span<float> logits(std::size_t logit_row_idx) = 0;
  // Of a last forward pass that wanted peaks: the largest logit of each row, without logits(); as ops::Backend gives
  // them. Empty where the model computed all logits nevertheless.
  virtual std::span<const std::optional<base::RowPeak>> peaks() const { return {}; }
  // Of a row of the last forward pass, after the final norm, [hidden_size]; where the batch wanted it.
  virtual std::span<const float> final_hidden(std::size_t row_idx) const = 0;
  virtual std::size_t activation_bytes() const = 0;
  virtual std::size_t scratch_bytes() const = 0;
};

// A decoder with its weights, immutable after loading; any number of workspaces may use it, one at a time.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const = 0;
  virtual kvcache::KvCacheShape kv_shape(tensor::DType type) const = 0;
  virtual std::size_t weight_bytes() const = 0;
  // The part of weight_bytes that belongs to experts, of which a token reads only those chosen for it.
  virtual std::size_t expert_bytes() const { return 0; }
  // Tables in the file's own memory of which a token reads a row; they come to lie in memory as far as they are used.
  virtual std::size_t table_bytes() const { return 0; }
  // max_rows: most tokens of one step; max_logit_rows: most rows of one step whose logits are wanted.
  virtual std::unique_ptr<Workspace> make_workspace(std::size_t max_rows, std::size_t max_logit_rows) const = 0;
  // Computes every row of `batch`: writes its keys and values into `cache` and its logits into `workspace`. `observer`
  // may be null. All inputs are validated by the caller: ids below vocab_size, positions below context_length, blocks
  // owned.
  virtual void forward(const ForwardBatch& batch, kvcache::KvCache& cache, Workspace& workspace,
                       ForwardObserver* observer) const = 0;
  // What rows of the residual stream say, `hidden` [num_rows, hidden_size]: final norm and head, into the workspace's
  // logits. Of the rows after the last layer these are the bits of forward(); of those before it, the logit lens.
  virtual void score(std::span<const float> hidden, Workspace& workspace) const = 0;
  // Calls task(i) for each i below `count`, on the threads that compute; between two forward passes. A task must not
  // throw.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& task) const = 0;
};

}  // namespace vitrine::models
