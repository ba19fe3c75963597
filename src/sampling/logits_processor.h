#pragma once

#include <span>
#include <string_view>

#include "base/token_id.h"
#include "sampling/candidate_set.h"
#include "sampling/sampling_params.h"

namespace vitrine::sampling {

// What a processor may know of the step besides the parameters.
struct StepContext {
  std::span<const TokenId> history;  // prompt and generated tokens, oldest first
  double xtc_uniform;                // in [0, 1), from (seed, step)
};

// One link of the chain: changes logits, or removes candidates, of one request at one step. Processors are pure
// functions of their arguments; none may remove every candidate, though banning (-inf) may.
struct LogitsProcessor {
  std::string_view name;
  bool (*is_active)(const SamplingParams& params);
  void (*apply)(const SamplingParams& params, const StepContext& context, CandidateSet& set);
};

// logit += bias, for each (token, bias) pair.
extern const LogitsProcessor kLogitBias;
// Once for each distinct token of the window: a negative logit is multiplied by the penalty, another divided by it
// (Keskar et al., "CTRL", 2019).
extern const LogitsProcessor kRepetitionPenalty;
// logit -= count * frequency_penalty + presence_penalty, for each token of the window.
extern const LogitsProcessor kPresenceFrequency;
// Lowers tokens that would lengthen a repetition: by multiplier * base^(length - allowed_length), length being that of
// the longest earlier copy of the newest tokens. A sequence breaker ends what counts as a repetition.
extern const LogitsProcessor kDry;
// Bans every token which followed an earlier copy of the newest n-1 tokens.
extern const LogitsProcessor kNoRepeatNgram;
// Keeps logits >= largest - n * their standard deviation (Tang et al., "Top-n-sigma", 2024).
extern const LogitsProcessor kTopNSigma;
// logit /= temperature; below kGreedyTemperature the most probable candidate alone stays.
extern const LogitsProcessor kTemperature;
// Keeps the k most probable, ties cut by id.
extern const LogitsProcessor kTopK;
// Locally typical sampling (Meister et al., 2023): by nearness of -ln p to the entropy, up to the mass.
extern const LogitsProcessor kTypicalP;
// Nucleus sampling (Holtzman et al., 2020): the fewest most probable whose probabilities reach the mass.
extern const LogitsProcessor kTopP;
// Keeps p >= min_p * largest p.
extern const LogitsProcessor kMinP;
// Keeps p >= epsilon, and the most probable (Hewitt et al., "Truncation Sampling as Language Model Desmoothing", 2022).
extern const LogitsProcessor kEpsilonCutoff;
// Keeps p >= min(eta, sqrt(eta) * exp(-entropy)), and the most probable (the same paper).
extern const LogitsProcessor kEtaCutoff;
// With xtc_probability: of the candidates with p >= xtc_threshold only the least probable stays, with all below it.
extern const LogitsProcessor kXtc;

// The order in which a request's processors run: the declarations above, from top to bottom. So biases and penalties
// see the model's logits, temperature comes before the truncations that look at probabilities, and each truncation
// sees what the one before it left, renormalised.
std::span<const LogitsProcessor* const> default_chain();

// The processor of that name; nullptr where there is none.
const LogitsProcessor* find_processor(std::string_view name);

}  // namespace vitrine::sampling
