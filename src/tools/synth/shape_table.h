#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vitrine::tools {

// The sizes of a published model, as its configuration states them: all that its speed depends on.
struct ModelShape {
  std::string_view name;
  std::string_view architecture;  // general.architecture of GGUF
  std::uint32_t num_layers = 0;
  std::uint32_t hidden_size = 0;
  std::uint32_t intermediate_size = 0;
  std::uint32_t num_heads = 0;
  std::uint32_t num_kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t vocab_size = 0;
  std::uint32_t context_length = 0;
  float rope_theta = 10000.0F;
  float rms_norm_eps = 1e-5F;
  bool tied_embeddings = true;
  std::uint32_t num_experts = 0;  // 0: dense
  std::uint32_t num_experts_used = 0;
  std::uint32_t expert_size = 0;     // of one expert's hidden layer
  std::uint32_t sliding_window = 0;  // 0: none
  float rope_factor = 1.0F;          // Llama 3's stretch of long waves; 1: none
};

// In the order of their names' families and sizes.
std::span<const ModelShape> model_shapes();
// nullptr where there is none of that name.
const ModelShape* find_model_shape(std::string_view name);

}  // namespace vitrine::tools
