#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vitrine::plan {

// The sizes of a published model, as its configuration states them: all that its memory and speed depend on.
struct ModelShape {
  std::string_view name;
  std::string_view architecture;  // general.architecture of GGUF
  std::uint32_t num_layers = 0;
  std::uint32_t hidden_size = 0;
  std::uint32_t intermediate_size = 0;
  std::uint32_t num_heads = 0;
  std::uint32_t num_kv_heads = 0;
  std::uint32_t head_dim = 0;   // of queries and keys
  std::uint32_t value_dim = 0;  // of values; 0: head_dim
  std::uint32_t vocab_size = 0;
  std::uint32_t context_length = 0;
  float rope_theta = 10000.0F;
  float rms_norm_eps = 1e-5F;
  bool tied_embeddings = true;
  std::uint32_t num_experts = 0;  // 0: dense
  std::uint32_t num_experts_used = 0;
  std::uint32_t expert_size = 0;         // of one expert's hidden layer
  std::uint32_t num_shared_experts = 0;  // that every token uses as well
  std::uint32_t num_dense_layers = 0;    // the first layers, which have no experts
  std::uint32_t sliding_window = 0;      // 0: none
  std::uint32_t window_period = 6;       // with a window: every so manieth layer sees everything; 0: none does
  float rope_factor = 1.0F;              // Llama 3's stretch of long waves; 1: none
  bool gated_mlp = true;                 // three matrices; else two
  bool has_positions = false;            // a learned vector for each position
  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values are made from latent_rank numbers;
  // rope_dim of each key are shared by all heads. 0: none.
  std::uint32_t latent_rank = 0;
  std::uint32_t query_rank = 0;
  std::uint32_t rope_dim = 0;
  bool keeps_latent = false;   // the cache holds those numbers in place of keys and values
  std::string_view note = {};  // what a person should know

  // Whether Vitrine computes such models; the others can be planned for.
  bool is_computed() const { return latent_rank == 0 && gated_mlp && !has_positions && note.empty(); }
  std::uint32_t values_of_head() const { return value_dim != 0 ? value_dim : head_dim; }
  bool is_windowed(std::size_t layer_idx) const {
    return sliding_window != 0 && (window_period == 0 || (layer_idx + 1) % window_period != 0);
  }
};

// In the order of their names' families and sizes.
std::span<const ModelShape> model_shapes();
// nullptr where there is none of that name.
const ModelShape* find_model_shape(std::string_view name);

}  // namespace vitrine::plan
