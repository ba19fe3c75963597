#include "plan/kv_layout.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "kvcache/block_id.h"

namespace vitrine::plan {

KvLayout kv_layout_of(const models::ModelConfig& config) {
  return {.num_layers = config.num_layers,
          .num_window_layers = static_cast<std::size_t>(std::ranges::count(config.layer_is_windowed, true)),
          .window = config.sliding_window,
          .num_kv_heads = config.num_kv_heads,
          .key_dim = config.head_dim,
          .value_dim = config.head_dim};
}

KvLayout kv_layout_of(const ModelShape& shape) {
  KvLayout layout{.num_layers = shape.num_layers,
                  .window = shape.sliding_window,
                  .num_kv_heads = shape.num_kv_heads,
                  .key_dim = shape.head_dim,
                  .value_dim = shape.values_of_head()};
  for (std::size_t layer_idx = 0; layer_idx < shape.num_layers; ++layer_idx)
    layout.num_window_layers += shape.is_windowed(layer_idx) ? 1 : 0;
  if (shape.keeps_latent) {
    layout.num_kv_heads = 1;
    layout.key_dim = shape.latent_rank + shape.rope_dim;
    layout.value_dim = 0;
  }
  return layout;
}

base::Result<std::size_t> kv_row_bytes(const KvLayout& layout, tensor::DType type) {
  const auto key_bytes = tensor::dtype_bytes(type, layout.key_dim);
  const auto value_bytes = tensor::dtype_bytes(type, layout.value_dim);
  if (key_bytes && value_bytes) return layout.num_kv_heads * (*key_bytes + *value_bytes);
  const tensor::DTypeInfo& info = tensor::dtype_info(type);
  return base::usage_error("--kv-type " + std::string(info.name) + ": a head of " + std::to_string(layout.key_dim) +
                           " is no multiple of " + std::to_string(info.block_elements) + "; use f16");
}

std::size_t kv_bytes(const KvLayout& layout, std::size_t row_bytes, std::size_t num_tokens) {
  const std::size_t num_full_layers = layout.num_layers - layout.num_window_layers;
  return row_bytes * (num_full_layers * num_tokens + layout.num_window_layers * std::min(num_tokens, layout.window));
}

std::size_t kv_allocated_bytes(const KvLayout& layout, std::size_t row_bytes, std::size_t num_tokens) {
  const std::size_t num_blocks = base::ceil_div(num_tokens, kvcache::kBlockTokens);
  return num_blocks * kvcache::kBlockTokens * layout.num_layers * row_bytes;
}

}  // namespace vitrine::plan
