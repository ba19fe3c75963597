// Metadata and tensors of a synthetic model, under the names of the GGUF format document and of llama.cpp.
#include <string>

#include "tools/synth/synth.h"
#include "tools/synth/synth_tokenizer.h"

namespace vitrine::tools {
namespace {

// Adds tensors of one shape and mix.
class TensorList {
 public:
  TensorList(loader::GgufOutline& outline, const ModelShape& shape, const TensorTypes& types)
      : outline_(outline), shape_(shape), types_(types) {}

  void add_top() {
    matrix("", "token_embd", {shape_.vocab_size, shape_.hidden_size}, shape_.tied_embeddings);
    if (!shape_.tied_embeddings) matrix("", "output", {shape_.vocab_size, shape_.hidden_size}, true);
    norm("output_norm", shape_.hidden_size);
    if (shape_.rope_factor != 1.0F) norm("rope_freqs", shape_.head_dim / 2);
  }

  void add_layer(std::size_t layer_idx) {
    layer_idx_ = layer_idx;
    const std::string prefix = "blk." + std::to_string(layer_idx) + ".";
    add_attention(prefix);
    const bool has_post_norms = shape_.architecture == "gemma3";
    if (has_post_norms) norm(prefix + "post_attention_norm", shape_.hidden_size);
    norm(prefix + "ffn_norm", shape_.hidden_size);
    if (shape_.num_experts == 0) {
      add_dense_mlp(prefix);
    } else {
      add_experts(prefix);
    }
    if (has_post_norms) norm(prefix + "post_ffw_norm", shape_.hidden_size);
  }

 private:
  void add_attention(const std::string& prefix) {
    const std::size_t query_width = std::size_t{shape_.num_heads} * shape_.head_dim;
    const std::size_t kv_width = std::size_t{shape_.num_kv_heads} * shape_.head_dim;
    norm(prefix + "attn_norm", shape_.hidden_size);
    matrix(prefix, "attn_q", {query_width, shape_.hidden_size});
    matrix(prefix, "attn_k", {kv_width, shape_.hidden_size});
    matrix(prefix, "attn_v", {kv_width, shape_.hidden_size});
    matrix(prefix, "attn_output", {shape_.hidden_size, query_width});
    if (shape_.architecture == "llama") return;
    norm(prefix + "attn_q_norm", shape_.head_dim);
    norm(prefix + "attn_k_norm", shape_.head_dim);
  }

  void add_dense_mlp(const std::string& prefix) {
    matrix(prefix, "ffn_gate", {shape_.intermediate_size, shape_.hidden_size});
    matrix(prefix, "ffn_up", {shape_.intermediate_size, shape_.hidden_size});
    matrix(prefix, "ffn_down", {shape_.hidden_size, shape_.intermediate_size});
  }

  void add_experts(const std::string& prefix) {
    outline_.add_tensor(prefix + "ffn_gate_inp.weight", {shape_.num_experts, shape_.hidden_size}, tensor::DType::kF32);
    matrix(prefix, "ffn_gate_exps", {shape_.num_experts, shape_.expert_size, shape_.hidden_size});
    matrix(prefix, "ffn_up_exps", {shape_.num_experts, shape_.expert_size, shape_.hidden_size});
    matrix(prefix, "ffn_down_exps", {shape_.num_experts, shape_.hidden_size, shape_.expert_size});
  }

  void matrix(const std::string& prefix, std::string_view part, const tensor::Shape& shape, bool is_head = false) {
    const tensor::DType type = types_.of({.part = part,
                                          .is_head = is_head,
                                          .layer_idx = layer_idx_,
                                          .num_layers = shape_.num_layers,
                                          .num_experts = shape_.num_experts,
                                          .num_columns = shape.row_elements()});
    outline_.add_tensor(prefix + std::string(part) + ".weight", shape, type);
  }
  void norm(const std::string& name, std::size_t size) {
    outline_.add_tensor(name + ".weight", {size}, tensor::DType::kF32);
  }

  loader::GgufOutline& outline_;
  const ModelShape& shape_;
  const TensorTypes& types_;
  std::size_t layer_idx_ = 0;
};

void add_metadata(loader::GgufOutline& outline, const ModelShape& shape) {
  const auto add = [&](const char* key, auto value) {
    outline.add(std::string(shape.architecture) + "." + key, value);
  };
  outline.add("general.architecture", shape.architecture);
  outline.add("general.name", std::string(shape.name) + " with random weights");
  outline.add("general.quantization_version", std::uint32_t{2});
  add("vocab_size", shape.vocab_size);
  add("context_length", shape.context_length);
  add("block_count", shape.num_layers);
  add("embedding_length", shape.hidden_size);
  add("feed_forward_length", shape.intermediate_size);
  add("attention.head_count", shape.num_heads);
  add("attention.head_count_kv", shape.num_kv_heads);
  add("attention.key_length", shape.head_dim);
  add("attention.value_length", shape.head_dim);
  add("attention.layer_norm_rms_epsilon", shape.rms_norm_eps);
  add("rope.dimension_count", shape.head_dim);
  add("rope.freq_base", shape.rope_theta);
  if (shape.sliding_window != 0) add("attention.sliding_window", shape.sliding_window);
  if (shape.num_experts == 0) return;
  add("expert_count", shape.num_experts);
  add("expert_used_count", shape.num_experts_used);
  add("expert_feed_forward_length", shape.expert_size);
}

}  // namespace

loader::GgufOutline synth_outline(const ModelShape& shape, const TensorTypes& types) {
  loader::GgufOutline outline;
  add_metadata(outline, shape);
  add_synth_tokenizer(outline, shape.vocab_size);
  TensorList tensors(outline, shape, types);
  tensors.add_top();
  for (std::size_t layer_idx = 0; layer_idx < shape.num_layers; ++layer_idx)
    tensors.add_layer(layer_idx);
  return outline;
}

}  // namespace vitrine::tools
