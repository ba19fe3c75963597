// The Llama family (Touvron et al., arXiv 2302.13971; Llama 2 and 3, Mistral, SmolLM2): pre-norm, SwiGLU, grouped
// queries. Mixtral (arXiv 2401.04088) is Mistral with experts, and in GGUF a "llama" whose metadata counts experts.
#include <array>

#include "models/family.h"
#include "models/gguf_config.h"
#include "models/hf_config.h"
#include "models/layers/pre_norm_layer.h"

namespace vitrine::models {
namespace {

// GGUF stores the query and key rows of Llama so that rotary pairs are neighbours.
void configure_gguf(const loader::Metadata& metadata, ModelConfig& config) {
  config.rope.interleaved = true;
  read_gguf_experts(metadata, config);
}

void configure_hf(const nlohmann::json& json, ModelConfig& config) {
  require_hf_string(json, "hidden_act", "silu");
  const std::size_t window = hf_size(json, "sliding_window", 0);
  config.sliding_window = window;
  config.layer_is_windowed.assign(config.num_layers, window != 0);
  config.local_rope = config.rope;
  if (config.architecture != "mixtral") return;
  config.experts = hf_experts(json);
  config.experts.intermediate_size = config.intermediate_size;
}

std::unique_ptr<Model> build(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights) {
  return PreNormLayer::build_decoder(config, backend, weights,
                                     {.router = "block_sparse_moe.gate",
                                      .experts = "block_sparse_moe.experts.",
                                      .expert_gate = ".w1.weight",
                                      .expert_up = ".w3.weight",
                                      .expert_down = ".w2.weight"});
}

constexpr std::array<std::string_view, 1> kGgufNames = {"llama"};
constexpr std::array<std::string_view, 3> kHfNames = {"llama", "mistral", "mixtral"};

}  // namespace

const Family kLlamaFamily = {"llama", kGgufNames, kHfNames, configure_gguf, configure_hf, build};

}  // namespace vitrine::models
