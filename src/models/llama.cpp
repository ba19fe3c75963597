// The Llama family (Touvron et al., arXiv 2302.13971; Llama 2 and 3, Mistral, SmolLM2): pre-norm, SwiGLU, grouped
// queries.
#include <array>
#include <utility>

#include "models/family.h"
#include "models/gguf_config.h"
#include "models/hf_config.h"
#include "models/layers/attention.h"
#include "models/layers/decoder.h"
#include "models/layers/gated_mlp.h"

namespace vitrine::models {
namespace {

class LlamaLayer : public DecoderLayer {
 public:
  LlamaLayer(WeightLoader& weights, const ModelConfig& config, std::size_t layer_idx) {
    const bool gguf = weights.format() == WeightFormat::kGguf;
    const std::string prefix = (gguf ? "blk." : "model.layers.") + std::to_string(layer_idx) + ".";
    attention_norm_ = Decoder::load_norm(
        weights, config, prefix + (gguf ? "attn_norm.weight" : "input_layernorm.weight"), config.hidden_size);
    attention_ = Attention::load(
        weights, config, layer_idx,
        gguf ? Attention::Names{prefix + "attn_q", prefix + "attn_k", prefix + "attn_v", prefix + "attn_output", "", ""}
             : Attention::Names{prefix + "self_attn.q_proj", prefix + "self_attn.k_proj", prefix + "self_attn.v_proj",
                                prefix + "self_attn.o_proj", "", ""});
    mlp_norm_ = Decoder::load_norm(
        weights, config, prefix + (gguf ? "ffn_norm.weight" : "post_attention_layernorm.weight"), config.hidden_size);
    mlp_ = GatedMlp::load(
        weights, config, ops::Activation::kSilu,
        gguf ? GatedMlp::Names{prefix + "ffn_gate", prefix + "ffn_up", prefix + "ffn_down"}
             : GatedMlp::Names{prefix + "mlp.gate_proj", prefix + "mlp.up_proj", prefix + "mlp.down_proj"});
    weights.ignore(prefix + "self_attn.rotary_emb.inv_freq");  // old checkpoints store what the configuration says
  }

  void forward(const Step& step, ops::Rows x) const override {
    const ops::Rows normed = step.workspace.normed.rows(step.num_rows());
    const float eps = step.config.rms_norm_eps;
    step.backend.rms_norm(x, attention_norm_, eps, normed);
    attention_.forward(step, normed, normed);
    step.backend.add(x, normed);
    step.backend.rms_norm(x, mlp_norm_, eps, normed);
    mlp_.forward(step, normed, normed);
    step.backend.add(x, normed);
  }

 private:
  std::vector<float> attention_norm_;  // [hidden_size]
  Attention attention_;
  std::vector<float> mlp_norm_;  // [hidden_size]
  GatedMlp mlp_;
};

// GGUF stores the query and key rows of Llama so that rotary pairs are neighbours.
void configure_gguf(const loader::Metadata& metadata, ModelConfig& config) {
  config.rope.interleaved = true;
  if (gguf_uint(metadata, config, "expert_count", 0, 1'000'000).value_or(0) > 0) {
    throw base::Exception(base::bad_file("llama.expert_count: mixtures of experts are not supported yet"));
  }
}

void configure_hf(const nlohmann::json& json, ModelConfig& config) {
  require_hf_string(json, "hidden_act", "silu");
  const std::size_t window = hf_size(json, "sliding_window", 0);
  config.sliding_window = window;
  config.layer_is_windowed.assign(config.num_layers, window != 0);
  config.local_rope = config.rope;
}

std::unique_ptr<Model> build(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights) {
  std::vector<std::unique_ptr<DecoderLayer>> layers;
  for (std::size_t layer_idx = 0; layer_idx < config.num_layers; ++layer_idx) {
    layers.push_back(std::make_unique<LlamaLayer>(weights, config, layer_idx));
  }
  const bool gguf = weights.format() == WeightFormat::kGguf;
  const Decoder::Names names = gguf
                                   ? Decoder::Names{"token_embd.weight", "output_norm.weight", "output.weight"}
                                   : Decoder::Names{"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"};
  weights.ignore("rope_freqs.weight");  // read with the configuration
  return std::make_unique<Decoder>(config, backend, weights, names, std::move(layers));
}

constexpr std::array<std::string_view, 1> kGgufNames = {"llama"};
constexpr std::array<std::string_view, 2> kHfNames = {"llama", "mistral"};

}  // namespace

const Family kLlamaFamily = {"llama", kGgufNames, kHfNames, configure_gguf, configure_hf, build};

}  // namespace vitrine::models
