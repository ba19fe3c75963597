#include "models/layers/step.h"

#include "base/check.h"

namespace vitrine::models {

DecoderWorkspace::Buffer::Buffer(std::size_t rows, std::size_t row_width)
    : data(std::make_unique_for_overwrite<float[]>(rows * row_width)), max_rows(rows), width(row_width) {}

ops::Rows DecoderWorkspace::Buffer::rows(std::size_t num_rows) const {
  VT_CHECK(num_rows <= max_rows, "a step is no larger than its workspace");
  return {data.get(), num_rows, width};
}

DecoderWorkspace::DecoderWorkspace(const ModelConfig& config, std::size_t max_rows, std::size_t max_logit_rows)
    : hidden(max_rows, config.hidden_size),
      normed(max_rows, config.hidden_size),
      queries(max_rows, config.num_heads * config.head_dim),
      keys(max_rows, config.num_kv_heads * config.head_dim),
      values(max_rows, config.num_kv_heads * config.head_dim),
      attended(max_rows, config.num_heads * config.head_dim),
      gate(max_rows, config.intermediate_size),
      up(max_rows, config.intermediate_size),
      logit_rows(max_logit_rows, config.hidden_size),
      all_logits(max_logit_rows, config.vocab_size) {}

std::span<float> DecoderWorkspace::logits(std::size_t logit_row_idx) {
  VT_CHECK(logit_row_idx < all_logits.max_rows, "a logit row of the workspace");
  return {all_logits.data.get() + logit_row_idx * all_logits.width, all_logits.width};
}

std::size_t DecoderWorkspace::activation_bytes() const {
  std::size_t total = 0;
  for (const Buffer* buffer :
       {&hidden, &normed, &queries, &keys, &values, &attended, &gate, &up, &logit_rows, &all_logits}) {
    total += buffer->max_rows * buffer->width * sizeof(float);
  }
  return total;
}

}  // namespace vitrine::models
