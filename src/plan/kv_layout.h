#pragma once

#include <cstddef>

#include "base/result.h"
#include "models/model_config.h"
#include "plan/model_shape.h"
#include "tensor/dtype.h"

namespace vitrine::plan {

// What a model keeps of each token, the query heads left out: they keep nothing.
struct KvLayout {
  std::size_t num_layers = 0;
  std::size_t num_window_layers = 0;  // of them, which see no further back than `window`
  std::size_t window = 0;
  std::size_t num_kv_heads = 0;
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;  // 0: keys and values come from one latent vector of key_dim numbers

  std::size_t row_elements() const { return num_kv_heads * (key_dim + value_dim); }
};
KvLayout kv_layout_of(const models::ModelConfig& config);
KvLayout kv_layout_of(const ModelShape& shape);

// Bytes of a token in one layer. Fails (kUsage) where its heads do not fill whole blocks of the type.
base::Result<std::size_t> kv_row_bytes(const KvLayout& layout, tensor::DType type);

// Bytes of one sequence of `num_tokens`: row x (full layers x tokens + window layers x min(tokens, window)).
std::size_t kv_bytes(const KvLayout& layout, std::size_t row_bytes, std::size_t num_tokens);

// Bytes that the paged cache takes for them: whole blocks, and every token in every layer, since a block is given back
// only as a whole.
std::size_t kv_allocated_bytes(const KvLayout& layout, std::size_t row_bytes, std::size_t num_tokens);

}  // namespace vitrine::plan
