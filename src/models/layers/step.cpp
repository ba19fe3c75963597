#include "models/layers/step.h"

#include "base/check.h"

namespace vitrine::models {

namespace {

std::size_t mlp_rows(const ModelConfig& config, std::size_t max_rows) {
  return config.experts.num_experts == 0 ? max_rows : max_rows * config.experts.num_used;
}

std::size_t mlp_width(const ModelConfig& config) {
  return config.experts.num_experts == 0 ? config.intermediate_size : config.experts.intermediate_size;
}

}  // namespace

WorkspaceSize::WorkspaceSize(const ModelConfig& config, std::size_t max_rows, std::size_t max_logit_rows)
    : hidden{max_rows, config.hidden_size},
      normed{max_rows, config.hidden_size},
      queries{max_rows, config.num_heads * config.head_dim},
      keys{max_rows, config.num_kv_heads * config.head_dim},
      values{max_rows, config.num_kv_heads * config.head_dim},
      attended{max_rows, config.num_heads * config.head_dim},
      gate{mlp_rows(config, max_rows), mlp_width(config)},
      up{mlp_rows(config, max_rows), mlp_width(config)},
      router_logits{max_rows, config.experts.num_experts},
      expert_answers{max_rows * config.experts.num_used, config.hidden_size},
      logit_rows{max_logit_rows, config.hidden_size},
      all_logits{max_logit_rows, config.vocab_size} {}

std::size_t WorkspaceSize::bytes() const {
  std::size_t total = 0;
  for (const Buffer* buffer : {&hidden, &normed, &queries, &keys, &values, &attended, &gate, &up, &router_logits,
                               &expert_answers, &logit_rows, &all_logits}) {
    total += buffer->max_rows * buffer->width * sizeof(float);
  }
  return total;
}

DecoderWorkspace::Buffer::Buffer(const WorkspaceSize::Buffer& size)
    : data(std::make_unique_for_overwrite<float[]>(size.max_rows * size.width)),
      max_rows(size.max_rows),
      width(size.width) {}

ops::Rows DecoderWorkspace::Buffer::rows(std::size_t num_rows) const {
  VT_CHECK(num_rows <= max_rows, "a step is no larger than its workspace");
  return {data.get(), num_rows, width};
}

DecoderWorkspace::DecoderWorkspace(const WorkspaceSize& size)
    : hidden(size.hidden),
      normed(size.normed),
      queries(size.queries),
      keys(size.keys),
      values(size.values),
      attended(size.attended),
      gate(size.gate),
      up(size.up),
      router_logits(size.router_logits),
      expert_answers(size.expert_answers),
      logit_rows(size.logit_rows),
      all_logits(size.all_logits),
      activation_bytes_(size.bytes()) {}

std::span<float> DecoderWorkspace::logits(std::size_t logit_row_idx) {
  VT_CHECK(logit_row_idx < all_logits.max_rows, "a logit row of the workspace");
  return {all_logits.data.get() + logit_row_idx * all_logits.width, all_logits.width};
}

std::span<const float> DecoderWorkspace::final_hidden(std::size_t row_idx) const {
  VT_CHECK(row_idx < normed.max_rows, "a row of the workspace");
  return {normed.data.get() + row_idx * normed.width, normed.width};
}

}  // namespace vitrine::models
