#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/layers/attention.h"
#include "models/layers/decoder.h"
#include "models/layers/expert_mlp.h"
#include "models/layers/gated_mlp.h"

namespace vitrine::models {

// The layer of Llama and of the families that follow it: x += attention(norm(x)); x += mlp(norm(x)), the MLP gated by
// SiLU, or a mixture of experts where the configuration has some.
class PreNormLayer : public DecoderLayer {
 public:
  struct Options {
    bool query_key_norm = false;  // an RMS norm of each head's query and key
    // Hugging Face names of a mixture, below the layer's prefix; GGUF has one spelling for all families.
    std::string_view router = "mlp.gate";
    std::string_view experts = "mlp.experts.";
    std::string_view expert_gate = ".gate_proj.weight";
    std::string_view expert_up = ".up_proj.weight";
    std::string_view expert_down = ".down_proj.weight";
  };
  PreNormLayer(WeightLoader& weights, const ModelConfig& config, std::size_t layer_idx, const Options& options);

  void forward(const Step& step, ops::Rows x) const override;

  // A decoder of such layers.
  static std::unique_ptr<Model> build_decoder(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights,
                                              const Options& options);

 private:
  std::vector<float> attention_norm_;  // [hidden_size]
  Attention attention_;
  std::vector<float> mlp_norm_;  // [hidden_size]
  std::variant<GatedMlp, ExpertMlp> mlp_;
};

}  // namespace vitrine::models
