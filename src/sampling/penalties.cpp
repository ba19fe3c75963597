#include "sampling/history.h"
#include "sampling/logits_processor.h"
#include "sampling/token_map.h"

namespace vitrine::sampling {
namespace {

// How often each token in play occurs in the window.
TokenMap count_tokens(const SamplingParams& params, const StepContext& context) {
  const std::span<const TokenId> tokens = window(context.history, params.repeat_last_n);
  TokenMap counts(tokens.size());
  for (const TokenId token : tokens) {
    if (token >= 0) ++counts[token];
  }
  return counts;
}

// new_logit(logit, count) for every token that occurred.
template <typename Function>
void change_seen(const SamplingParams& params, const StepContext& context, CandidateSet& set, Function new_logit) {
  count_tokens(params, context).for_each([&](TokenId token, int count) {
    const auto position = set.position_of(token);
    if (position) set.set_logit(*position, new_logit(set.logits()[*position], count));
  });
}

void penalise_repetition(const SamplingParams& params, const StepContext& context, CandidateSet& set) {
  const float penalty = params.repetition_penalty;
  change_seen(params, context, set, [=](float logit, int) { return logit < 0.0F ? logit * penalty : logit / penalty; });
}

void penalise_presence_and_frequency(const SamplingParams& params, const StepContext& context, CandidateSet& set) {
  change_seen(params, context, set, [&](float logit, int count) {
    return logit - (static_cast<float>(count) * params.frequency_penalty + params.presence_penalty);
  });
}

void add_biases(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  for (const auto& [token, bias] : params.logit_bias) {
    const auto position = set.position_of(token);
    if (position) set.set_logit(*position, set.logits()[*position] + bias);
  }
}

}  // namespace

constinit const LogitsProcessor kLogitBias = {
    .name = "logit_bias",
    .is_active = [](const SamplingParams& params) { return !params.logit_bias.empty(); },
    .apply = add_biases,
};

constinit const LogitsProcessor kRepetitionPenalty = {
    .name = "repetition_penalty",
    .is_active =
        [](const SamplingParams& params) { return params.repetition_penalty != 1.0F && params.repeat_last_n != 0; },
    .apply = penalise_repetition,
};

constinit const LogitsProcessor kPresenceFrequency = {
    .name = "presence_frequency",
    .is_active =
        [](const SamplingParams& params) {
          return (params.presence_penalty != 0.0F || params.frequency_penalty != 0.0F) && params.repeat_last_n != 0;
        },
    .apply = penalise_presence_and_frequency,
};

}  // namespace vitrine::sampling
