#include "models/layers/pre_norm_layer.h"

#include <utility>

namespace vitrine::models {
namespace {

Attention::Names attention_names(bool gguf, const std::string& prefix, bool query_key_norm) {
  Attention::Names names =
      gguf ? Attention::Names{prefix + "attn_q", prefix + "attn_k", prefix + "attn_v", prefix + "attn_output", "", ""}
           : Attention::Names{prefix + "self_attn.q_proj",
                              prefix + "self_attn.k_proj",
                              prefix + "self_attn.v_proj",
                              prefix + "self_attn.o_proj",
                              "",
                              ""};
  if (query_key_norm) {
    names.query_norm = prefix + (gguf ? "attn_q_norm.weight" : "self_attn.q_norm.weight");
    names.key_norm = prefix + (gguf ? "attn_k_norm.weight" : "self_attn.k_norm.weight");
  }
  return names;
}

// A tensor of all experts; files from before there were such have one per expert.
ExpertTensor gguf_expert(const std::string& name) {
  return {name + "_exps.weight", name + ".", ".weight"};
}

ExpertMlp::Names expert_names(bool gguf, const std::string& prefix, const PreNormLayer::Options& options) {
  if (gguf) {
    return {prefix + "ffn_gate_inp", gguf_expert(prefix + "ffn_gate"), gguf_expert(prefix + "ffn_up"),
            gguf_expert(prefix + "ffn_down")};
  }
  const auto of = [&](std::string_view name) {
    return ExpertTensor{"", prefix + std::string(options.experts), std::string(name)};
  };
  return {prefix + std::string(options.router), of(options.expert_gate), of(options.expert_up),
          of(options.expert_down)};
}

GatedMlp::Names dense_names(bool gguf, const std::string& prefix) {
  return gguf ? GatedMlp::Names{prefix + "ffn_gate", prefix + "ffn_up", prefix + "ffn_down"}
              : GatedMlp::Names{prefix + "mlp.gate_proj", prefix + "mlp.up_proj", prefix + "mlp.down_proj"};
}

}  // namespace

PreNormLayer::PreNormLayer(WeightLoader& weights, const ModelConfig& config, std::size_t layer_idx,
                           const Options& options) {
  const bool gguf = weights.format() == WeightFormat::kGguf;
  const std::string prefix = (gguf ? "blk." : "model.layers.") + std::to_string(layer_idx) + ".";
  const auto norm = [&](const char* gguf_name, const char* hf_name) {
    return Decoder::load_norm(weights, config, prefix + (gguf ? gguf_name : hf_name) + ".weight", config.hidden_size);
  };
  attention_norm_ = norm("attn_norm", "input_layernorm");
  attention_ = Attention::load(weights, config, layer_idx, attention_names(gguf, prefix, options.query_key_norm));
  mlp_norm_ = norm("ffn_norm", "post_attention_layernorm");
  if (config.experts.num_experts != 0) {
    mlp_ = ExpertMlp::load(weights, config, expert_names(gguf, prefix, options));
  } else {
    mlp_ = GatedMlp::load(weights, config, ops::Activation::kSilu, dense_names(gguf, prefix));
  }
  weights.ignore(prefix + "self_attn.rotary_emb.inv_freq");  // old checkpoints store what the configuration says
}

void PreNormLayer::forward(const Step& step, ops::Rows x) const {
  const ops::Rows change = step.workspace.normed.rows(step.num_rows());
  const float eps = step.config.rms_norm_eps;
  attention_.forward(step, {x, attention_norm_, eps}, change);
  step.backend.add(x, change);
  std::visit([&](const auto& mlp) { mlp.forward(step, {x, mlp_norm_, eps}, change); }, mlp_);
  step.backend.add(x, change);
}

std::unique_ptr<Model> PreNormLayer::build_decoder(const ModelConfig& config, ops::Backend& backend,
                                                   WeightLoader& weights, const Options& options) {
  std::vector<std::unique_ptr<DecoderLayer>> layers;
  for (std::size_t layer_idx = 0; layer_idx < config.num_layers; ++layer_idx) {
    layers.push_back(std::make_unique<PreNormLayer>(weights, config, layer_idx, options));
  }
  const bool gguf = weights.format() == WeightFormat::kGguf;
  const Decoder::Names names = gguf
                                   ? Decoder::Names{"token_embd.weight", "output_norm.weight", "output.weight"}
                                   : Decoder::Names{"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"};
  weights.ignore("rope_freqs.weight");  // read with the configuration
  return std::make_unique<Decoder>(config, backend, weights, names, std::move(layers));
}

}  // namespace vitrine::models
