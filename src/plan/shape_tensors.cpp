// The tensors of a shape, under the names of the GGUF format document and of llama.cpp.
#include "plan/shape_tensors.h"

#include <string_view>
#include <utility>

namespace vitrine::plan {
namespace {

class TensorList {
 public:
  TensorList(const ModelShape& shape, const TensorTypes& types) : shape_(shape), types_(types) {}

  std::vector<ShapeTensor> take() && { return std::move(tensors_); }

  void add_top() {
    add("", "token_embd", {shape_.vocab_size, shape_.hidden_size}, TensorRole::kTable, shape_.tied_embeddings);
    if (!shape_.tied_embeddings) add("", "output", {shape_.vocab_size, shape_.hidden_size}, TensorRole::kHead, true);
    if (shape_.has_positions) add("", "position_embd", {shape_.context_length, shape_.hidden_size}, TensorRole::kTable);
    vector("output_norm", shape_.hidden_size);
    if (shape_.rope_factor != 1.0F) vector("rope_freqs", shape_.head_dim / 2, TensorRole::kNote);
  }

  void add_layer(std::size_t layer_idx) {
    layer_idx_ = layer_idx;
    const std::string prefix = "blk." + std::to_string(layer_idx) + ".";
    const bool has_post_norms = shape_.architecture == "gemma3";
    vector(prefix + "attn_norm", shape_.hidden_size);
    if (shape_.latent_rank != 0) {
      add_latent_attention(prefix);
    } else {
      add_attention(prefix);
    }
    if (has_post_norms) vector(prefix + "post_attention_norm", shape_.hidden_size);
    vector(prefix + "ffn_norm", shape_.hidden_size);
    if (layer_idx < shape_.num_dense_layers || shape_.num_experts == 0) {
      add_mlp(prefix, "", shape_.intermediate_size);
    } else {
      add_experts(prefix);
    }
    if (has_post_norms) vector(prefix + "post_ffw_norm", shape_.hidden_size);
  }

 private:
  void add_attention(const std::string& prefix) {
    const std::size_t query_width = std::size_t{shape_.num_heads} * shape_.head_dim;
    const std::size_t answer_width = std::size_t{shape_.num_heads} * shape_.values_of_head();
    const std::size_t num_kv_heads = shape_.num_kv_heads;
    add(prefix, "attn_q", {query_width, shape_.hidden_size});
    add(prefix, "attn_k", {num_kv_heads * shape_.head_dim, shape_.hidden_size});
    add(prefix, "attn_v", {num_kv_heads * shape_.values_of_head(), shape_.hidden_size});
    add(prefix, "attn_output", {shape_.hidden_size, answer_width});
    if (!shape_.architecture.starts_with("qwen3") && shape_.architecture != "gemma3") return;
    vector(prefix + "attn_q_norm", shape_.head_dim);
    vector(prefix + "attn_k_norm", shape_.head_dim);
  }

  // Queries come from query_rank numbers, keys and values from latent_rank; rope_dim of each key are shared by all
  // heads and come from the input.
  void add_latent_attention(const std::string& prefix) {
    const std::size_t num_heads = shape_.num_heads;
    const std::size_t own_key_dim = shape_.head_dim - shape_.rope_dim;
    add(prefix, "attn_q_a", {shape_.query_rank, shape_.hidden_size});
    add(prefix, "attn_q_b", {num_heads * shape_.head_dim, shape_.query_rank});
    add(prefix, "attn_kv_a_mqa", {std::size_t{shape_.latent_rank} + shape_.rope_dim, shape_.hidden_size});
    add(prefix, "attn_kv_b", {num_heads * (own_key_dim + shape_.values_of_head()), shape_.latent_rank});
    add(prefix, "attn_output", {shape_.hidden_size, num_heads * shape_.values_of_head()});
    vector(prefix + "attn_q_a_norm", shape_.query_rank);
    vector(prefix + "attn_kv_a_norm", shape_.latent_rank);
  }

  void add_mlp(const std::string& prefix, const std::string& suffix, std::size_t width) {
    if (shape_.gated_mlp) add(prefix, "ffn_gate" + suffix, {width, shape_.hidden_size});
    add(prefix, "ffn_up" + suffix, {width, shape_.hidden_size});
    add(prefix, "ffn_down" + suffix, {shape_.hidden_size, width});
  }

  void add_experts(const std::string& prefix) {
    const std::size_t num_experts = shape_.num_experts;
    const std::size_t width = shape_.expert_size;
    tensors_.push_back(
        {prefix + "ffn_gate_inp.weight", {num_experts, shape_.hidden_size}, tensor::DType::kF32, TensorRole::kRouter});
    if (shape_.gated_mlp) add(prefix, "ffn_gate_exps", {num_experts, width, shape_.hidden_size}, TensorRole::kExperts);
    add(prefix, "ffn_up_exps", {num_experts, width, shape_.hidden_size}, TensorRole::kExperts);
    add(prefix, "ffn_down_exps", {num_experts, shape_.hidden_size, width}, TensorRole::kExperts);
    if (shape_.num_shared_experts != 0) add_mlp(prefix, "_shexp", shape_.num_shared_experts * width);
  }

  void add(const std::string& prefix, const std::string& part, const tensor::Shape& shape,
           TensorRole role = TensorRole::kMatrix, bool is_head = false) {
    const tensor::DType type = types_.of({.part = part,
                                          .is_head = is_head,
                                          .layer_idx = layer_idx_,
                                          .num_layers = shape_.num_layers,
                                          .num_experts = shape_.num_experts,
                                          .num_columns = shape.row_elements()});
    tensors_.push_back({prefix + part + ".weight", shape, type, role});
  }
  void vector(const std::string& name, std::size_t size, TensorRole role = TensorRole::kVector) {
    tensors_.push_back({name + ".weight", {size}, tensor::DType::kF32, role});
  }

  const ModelShape& shape_;
  const TensorTypes& types_;
  std::size_t layer_idx_ = 0;
  std::vector<ShapeTensor> tensors_;
};

}  // namespace

std::vector<ShapeTensor> shape_tensors(const ModelShape& shape, const TensorTypes& types) {
  TensorList tensors(shape, types);
  tensors.add_top();
  for (std::size_t layer_idx = 0; layer_idx < shape.num_layers; ++layer_idx)
    tensors.add_layer(layer_idx);
  return std::move(tensors).take();
}

}  // namespace vitrine::plan
