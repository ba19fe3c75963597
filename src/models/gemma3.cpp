// Gemma 3 text models (Gemma Team, arXiv 2503.19786): norms before and after each part, QK norm, GeGLU, most layers
// windowed with a rotary base of their own, embeddings scaled by sqrt(hidden_size).
#include <array>
#include <cmath>
#include <utility>

#include "base/float16.h"
#include "models/family.h"
#include "models/gguf_config.h"
#include "models/hf_config.h"
#include "models/layers/attention.h"
#include "models/layers/decoder.h"
#include "models/layers/gated_mlp.h"

namespace vitrine::models {
namespace {

class Gemma3Layer : public DecoderLayer {
 public:
  Gemma3Layer(WeightLoader& weights, const ModelConfig& config, std::size_t layer_idx) {
    const bool gguf = weights.format() == WeightFormat::kGguf;
    const std::string prefix = (gguf ? "blk." : "model.layers.") + std::to_string(layer_idx) + ".";
    const auto norm = [&](const char* gguf_name, const char* hf_name) {
      return Decoder::load_norm(weights, config, prefix + (gguf ? gguf_name : hf_name) + ".weight", config.hidden_size);
    };
    attention_norm_ = norm("attn_norm", "input_layernorm");
    attention_post_norm_ = norm("post_attention_norm", "post_attention_layernorm");
    mlp_norm_ = norm("ffn_norm", "pre_feedforward_layernorm");
    mlp_post_norm_ = norm("post_ffw_norm", "post_feedforward_layernorm");
    attention_ = Attention::load(weights, config, layer_idx, attention_names(gguf, prefix));
    if (config.norm_weight_plus_one) {
      for (float& value : attention_.query_norm)
        value += 1.0F;
      for (float& value : attention_.key_norm)
        value += 1.0F;
    }
    mlp_ = GatedMlp::load(
        weights, config, ops::Activation::kGeluTanh,
        gguf ? GatedMlp::Names{prefix + "ffn_gate", prefix + "ffn_up", prefix + "ffn_down"}
             : GatedMlp::Names{prefix + "mlp.gate_proj", prefix + "mlp.up_proj", prefix + "mlp.down_proj"});
  }

  void forward(const Step& step, ops::Rows x) const override {
    const ops::Rows change = step.workspace.normed.rows(step.num_rows());
    const float eps = step.config.rms_norm_eps;
    attention_.forward(step, {x, attention_norm_, eps}, change);
    step.backend.rms_norm(change, attention_post_norm_, eps, change);
    step.backend.add(x, change);
    mlp_.forward(step, {x, mlp_norm_, eps}, change);
    step.backend.rms_norm(change, mlp_post_norm_, eps, change);
    step.backend.add(x, change);
  }

 private:
  static Attention::Names attention_names(bool gguf, const std::string& prefix) {
    if (gguf) {
      return {prefix + "attn_q",
              prefix + "attn_k",
              prefix + "attn_v",
              prefix + "attn_output",
              prefix + "attn_q_norm.weight",
              prefix + "attn_k_norm.weight"};
    }
    const std::string attention = prefix + "self_attn.";
    return {attention + "q_proj", attention + "k_proj",        attention + "v_proj",
            attention + "o_proj", attention + "q_norm.weight", attention + "k_norm.weight"};
  }

  std::vector<float> attention_norm_, attention_post_norm_, mlp_norm_, mlp_post_norm_;  // [hidden_size]
  Attention attention_;
  GatedMlp mlp_;
};

constexpr std::size_t kPattern = 6;  // every sixth layer sees everything

void set_window_pattern(ModelConfig& config, std::size_t pattern) {
  config.layer_is_windowed.resize(config.num_layers);
  for (std::size_t i = 0; i < config.num_layers; ++i) {
    config.layer_is_windowed[i] = config.sliding_window != 0 && (i + 1) % pattern != 0;
  }
}

float embedding_scale(const ModelConfig& config) {
  return std::sqrt(static_cast<float>(config.hidden_size));
}

void configure_gguf(const loader::Metadata& metadata, ModelConfig& config) {
  config.embedding_scale = embedding_scale(config);
  config.tied_embeddings = true;
  set_window_pattern(config,
                     gguf_uint(metadata, config, "attention.sliding_window_pattern", 1, 1024).value_or(kPattern));
  // The 27B model scales by the width per head instead of the head dimension, which its heads do not have.
  if (config.num_layers == 62)
    config.attention_scale =
        1.0F / std::sqrt(static_cast<float>(config.hidden_size) / static_cast<float>(config.num_heads));
  config.local_rope = config.rope;
  config.local_rope.scaling = RopeScaling::kNone;
  config.local_rope.theta =
      static_cast<float>(gguf_float(metadata, config, "rope.freq_base_swa", 1.0, 1e12).value_or(10000.0));
}

void configure_hf(const nlohmann::json& json, ModelConfig& config) {
  require_hf_string(json, json.contains("hidden_activation") ? "hidden_activation" : "hidden_act", "gelu_pytorch_tanh");
  require_hf_null(json, "attn_logit_softcapping");
  config.embedding_scale = embedding_scale(config);
  config.tied_embeddings = hf_bool(json, "tie_word_embeddings", true);
  config.norm_weight_plus_one = true;
  config.final_logit_softcap = static_cast<float>(hf_number(json, "final_logit_softcapping", 0.0));
  config.attention_scale = static_cast<float>(1.0 / std::sqrt(hf_number(json, "query_pre_attn_scalar", 256.0)));
  config.sliding_window = hf_size(json, "sliding_window", 4096);
  set_window_pattern(config, hf_size(json, "sliding_window_pattern", kPattern));
  read_hf_layer_types(json, config);
  config.rope = hf_rope(json, config, "full_attention", 1e6);
  config.local_rope = hf_local_rope(json, config, "sliding_attention", 10000.0);
}

std::unique_ptr<Model> build(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights) {
  std::vector<std::unique_ptr<DecoderLayer>> layers;
  for (std::size_t layer_idx = 0; layer_idx < config.num_layers; ++layer_idx) {
    layers.push_back(std::make_unique<Gemma3Layer>(weights, config, layer_idx));
  }
  const bool gguf = weights.format() == WeightFormat::kGguf;
  const Decoder::Names names = gguf
                                   ? Decoder::Names{"token_embd.weight", "output_norm.weight", "output.weight"}
                                   : Decoder::Names{"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"};
  return std::make_unique<Decoder>(config, backend, weights, names, std::move(layers));
}

constexpr std::array<std::string_view, 1> kGgufNames = {"gemma3"};
constexpr std::array<std::string_view, 1> kHfNames = {"gemma3_text"};

}  // namespace

const Family kGemma3Family = {"gemma3", kGgufNames, kHfNames, configure_gguf, configure_hf, build};

}  // namespace vitrine::models
