// Qwen3 (Yang et al., arXiv 2505.09388), dense and with experts: Llama's layer with an RMS norm of each head's queries
// and keys.
#include <array>

#include "base/result.h"
#include "models/family.h"
#include "models/gguf_config.h"
#include "models/hf_config.h"
#include "models/layers/pre_norm_layer.h"

namespace vitrine::models {
namespace {

// A file that does not state the width of an expert means a share of the dense width.
void configure_gguf(const loader::Metadata& metadata, ModelConfig& config) {
  if (config.architecture != "qwen3moe") return;
  read_gguf_experts(metadata, config);
  if (config.experts.num_experts == 0) {
    throw base::Exception(base::bad_file("qwen3moe.expert_count is missing or 0"));
  }
  if (metadata.find("qwen3moe.expert_feed_forward_length") == nullptr) {
    config.experts.intermediate_size = config.intermediate_size / config.experts.num_used;
  }
}

void configure_hf_experts(const nlohmann::json& json, ModelConfig& config) {
  config.experts = hf_experts(json);
  config.experts.intermediate_size = hf_size(json, "moe_intermediate_size", 768);
  config.experts.normalize_weights = hf_bool(json, "norm_topk_prob", false);
  const auto dense = json.find("mlp_only_layers");
  const bool has_dense_layers = dense != json.end() && !dense->empty();
  if (has_dense_layers || hf_size(json, "decoder_sparse_step", 1) != 1) {
    throw base::Exception(base::bad_file(
        "config.json: mlp_only_layers and decoder_sparse_step: dense layers among those with experts are not "
        "supported"));
  }
}

void configure_hf(const nlohmann::json& json, ModelConfig& config) {
  require_hf_string(json, "hidden_act", "silu");
  if (hf_bool(json, "use_sliding_window", false)) {
    throw base::Exception(base::bad_file("config.json: use_sliding_window: true is not supported"));
  }
  if (config.architecture == "qwen3_moe") configure_hf_experts(json, config);
}

std::unique_ptr<Model> build(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights) {
  return PreNormLayer::build_decoder(config, backend, weights, {.query_key_norm = true});
}

constexpr std::array<std::string_view, 2> kGgufNames = {"qwen3", "qwen3moe"};
constexpr std::array<std::string_view, 2> kHfNames = {"qwen3", "qwen3_moe"};

}  // namespace

const Family kQwen3Family = {"qwen3", kGgufNames, kHfNames, configure_gguf, configure_hf, build};

}  // namespace vitrine::models
