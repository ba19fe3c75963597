#include "models/layers/attention.h"

#include <array>

namespace vitrine::models {

Attention Attention::load(WeightLoader& weights, const ModelConfig& config, std::size_t layer_idx, const Names& names) {
  const std::size_t query_width = config.num_heads * config.head_dim;
  const std::size_t kv_width = config.num_kv_heads * config.head_dim;
  Attention attention;
  attention.query = Linear::load(weights, names.query, query_width, config.hidden_size);
  attention.key = Linear::load(weights, names.key, kv_width, config.hidden_size);
  attention.value = Linear::load(weights, names.value, kv_width, config.hidden_size);
  attention.output = Linear::load(weights, names.output, config.hidden_size, query_width);
  if (!names.query_norm.empty()) {
    attention.query_norm = weights.vector(names.query_norm, config.head_dim);
    attention.key_norm = weights.vector(names.key_norm, config.head_dim);
  }
  attention.layer_idx = layer_idx;
  attention.is_windowed = config.layer_is_windowed[layer_idx];
  return attention;
}

void Attention::forward(const Step& step, const ops::NormedRows& x, ops::Rows out) const {
  ops::Backend& backend = step.backend;
  const ModelConfig& config = step.config;
  DecoderWorkspace& workspace = step.workspace;
  const ops::Rows queries = workspace.queries.rows(step.num_rows());
  const ops::Rows keys = workspace.keys.rows(step.num_rows());
  const ops::Rows values = workspace.values.rows(step.num_rows());
  const ops::Rows attended = workspace.attended.rows(step.num_rows());

  backend.matmul_normed(
      x, out, step.roles(),
      std::array{ops::MatmulOutput{query.weight.get(), queries}, ops::MatmulOutput{key.weight.get(), keys},
                 ops::MatmulOutput{value.weight.get(), values}});
  query.add_bias(backend, queries);
  key.add_bias(backend, keys);
  value.add_bias(backend, values);
  if (!query_norm.empty()) {
    backend.rms_norm(queries, query_norm, config.rms_norm_eps, queries);
    backend.rms_norm(keys, key_norm, config.rms_norm_eps, keys);
  }
  const ops::RopeAngles& angles = is_windowed ? workspace.local_rope : workspace.rope;
  backend.rope(queries, config.head_dim, angles);
  backend.rope(keys, config.head_dim, angles);

  const ops::AttentionContext context{&step.cache, layer_idx, step.batch.sequences};
  backend.store_kv(keys, values, context);
  const ops::AttentionShape shape{.num_heads = config.num_heads,
                                  .scale = config.attention_scale,
                                  .window = is_windowed ? config.sliding_window : 0};
  backend.attention(queries, shape, context, attended);
  backend.matmul(attended, step.roles(), std::array{ops::MatmulOutput{output.weight.get(), out}});
  output.add_bias(backend, out);
}

}  // namespace vitrine::models
