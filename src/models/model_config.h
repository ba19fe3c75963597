#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace vitrine::models {

enum class RopeScaling { kNone, kLinear, kLlama3, kYarn };

// Rotary position embedding (Su et al., arXiv 2104.09864) and the ways in which context is stretched.
struct RopeConfig {
  float theta = 10000.0F;
  std::size_t rotary_dim = 0;
  bool interleaved = false;  // pairs are (2i, 2i + 1), as GGUF stores Llama, instead of (i, i + rotary_dim / 2)
  RopeScaling scaling = RopeScaling::kNone;
  float factor = 1.0F;
  std::size_t original_context = 0;
  float low_freq_factor = 1.0F;           // kLlama3
  float high_freq_factor = 4.0F;          // kLlama3
  float beta_fast = 32.0F;                // kYarn
  float beta_slow = 1.0F;                 // kYarn
  std::optional<float> attention_factor;  // kYarn; default 0.1 ln(factor) + 1
  std::vector<float> freq_factors;        // per pair divisors from the file (GGUF rope_freqs.weight); empty: none
};

// A mixture of experts in place of each layer's MLP (Fedus et al., arXiv 2101.03961; Jiang et al., arXiv 2401.04088).
struct ExpertConfig {
  std::size_t num_experts = 0;        // 0: the model is dense
  std::size_t num_used = 0;           // per token
  std::size_t intermediate_size = 0;  // of one expert
  bool normalize_weights = true;      // over the experts that were chosen, not over all
};

// The numbers that define a decoder; made from GGUF metadata or a Hugging Face config.json by the family's file.
struct ModelConfig {
  std::string architecture;  // the registry row: "llama", "gemma3", ...
  std::size_t vocab_size = 0;
  std::size_t context_length = 0;
  std::size_t num_layers = 0;
  std::size_t hidden_size = 0;
  std::size_t intermediate_size = 0;  // of a dense MLP
  std::size_t num_heads = 0;
  std::size_t num_kv_heads = 0;
  std::size_t head_dim = 0;
  float rms_norm_eps = 1e-5F;
  bool tied_embeddings = false;
  float embedding_scale = 1.0F;
  float attention_scale = 0.0F;          // what q . k is multiplied with
  float final_logit_softcap = 0.0F;      // 0: none
  float attention_logit_softcap = 0.0F;  // 0: none
  std::size_t sliding_window = 0;        // positions a windowed layer sees, itself included; 0: none
  std::vector<bool> layer_is_windowed;   // [num_layers]
  RopeConfig rope;                       // of full-attention layers
  RopeConfig local_rope;                 // of windowed layers (Gemma 3)
  bool norm_weight_plus_one = false;     // the file holds w, the norm multiplies with 1 + w (Gemma, safetensors)
  ExpertConfig experts;
};

}  // namespace vitrine::models
