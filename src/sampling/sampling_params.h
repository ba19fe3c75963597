#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"

namespace vitrine::sampling {

// Below this temperature the most probable token is taken without chance: logits divided by less than this no longer
// fit a float.
inline constexpr float kGreedyTemperature = 1e-3F;
inline constexpr std::size_t kMaxLogitBiases = 1024;
inline constexpr float kMaxLogitBias = 100.0F;
inline constexpr std::size_t kMaxDryBreakers = 64;
inline constexpr std::size_t kMaxDryBreakerTokens = 64;

// How one request chooses its tokens. A plain value: range, flag and help of every scalar stand in the parameter table
// (parameter_table.h), the meaning at the processor that reads it. The defaults change nothing: they sample from the
// model's own distribution.
struct SamplingParams {
  float temperature = 1.0F;
  int top_k = 0;
  float top_p = 1.0F;
  float min_p = 0.0F;
  float typical_p = 1.0F;
  float top_n_sigma = 0.0F;
  float epsilon_cutoff = 0.0F;
  float eta_cutoff = 0.0F;

  float xtc_probability = 0.0F;
  float xtc_threshold = 0.1F;
  int xtc_min_keep = 1;

  // Penalties see the prompt and the generated tokens alike, the last `repeat_last_n` of them.
  float repetition_penalty = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  int repeat_last_n = -1;
  int no_repeat_ngram_size = 0;

  float dry_multiplier = 0.0F;
  float dry_base = 1.75F;
  int dry_allowed_length = 2;
  int dry_penalty_last_n = -1;
  std::vector<std::vector<TokenId>> dry_sequence_breakers;

  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the raw logits

  std::optional<std::uint64_t> seed;  // absent: the Sampler takes one from the operating system
  bool logprobs = false;
  int top_logprobs = 0;
};

// Refuses (kUsage) what is out of range or names a token outside [0, vocab_size). The message names field and range.
base::Result<void> validate(const SamplingParams& params, std::size_t vocab_size);

// One line for each setting that has no effect, or that works against another. Never a refusal.
std::vector<std::string> advice(const SamplingParams& params);

}  // namespace vitrine::sampling
