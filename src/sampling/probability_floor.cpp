// The samplers that keep every candidate above a probability: min_p, epsilon and eta cutoff. A floor under the
// probability is a floor under the logit, so no exponential is taken per candidate.
#include <algorithm>
#include <cmath>

#include "sampling/logits_processor.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

// Keeps p >= exp(log_ratio) * largest p. At log_ratio >= 0 the largest alone (with its equals) stays.
void keep_above(CandidateSet& set, double log_ratio) {
  set.keep_from(at_least(static_cast<double>(set.peak().value) + std::min(log_ratio, 0.0)));
}

void apply_min_p(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  keep_above(set, std::log(static_cast<double>(params.min_p)));
}

void apply_epsilon(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const double log_total = std::log(sum_exp(set.logits(), set.peak().value));
  keep_above(set, std::log(static_cast<double>(params.epsilon_cutoff)) + log_total);
}

void apply_eta(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const Distribution distribution = describe(set.logits(), set.peak().value);
  const double log_eta = std::log(static_cast<double>(params.eta_cutoff));
  keep_above(set, std::min(log_eta, log_eta / 2 - distribution.entropy) + distribution.log_total);
}

}  // namespace

constinit const LogitsProcessor kMinP = {
    .name = "min_p",
    .is_active = [](const SamplingParams& params) { return params.min_p > 0.0F; },
    .apply = apply_min_p,
};

constinit const LogitsProcessor kEpsilonCutoff = {
    .name = "epsilon_cutoff",
    .is_active = [](const SamplingParams& params) { return params.epsilon_cutoff > 0.0F; },
    .apply = apply_epsilon,
};

constinit const LogitsProcessor kEtaCutoff = {
    .name = "eta_cutoff",
    .is_active = [](const SamplingParams& params) { return params.eta_cutoff > 0.0F; },
    .apply = apply_eta,
};

}  // namespace vitrine::sampling
