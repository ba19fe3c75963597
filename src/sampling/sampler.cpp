#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <utility>

#include "sampling/philox.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// The model's own log-probabilities of one row, taken before the chain changes it.
class RawLogprobs {
 public:
  RawLogprobs(std::span<const float> logits, float peak)
      : logits_(logits.begin(), logits.end()),
        log_normalizer_(static_cast<double>(peak) + std::log(sum_exp(logits, peak))) {}

  float of(TokenId id) const {
    return static_cast<float>(static_cast<double>(logits_[static_cast<std::size_t>(id)]) - log_normalizer_);
  }

  std::vector<TokenLogprob> top(std::size_t count) const {
    std::vector<TokenLogprob> result;
    for (const std::uint32_t position : top_positions(logits_, count)) {
      const auto id = static_cast<TokenId>(position);
      result.push_back({id, of(id)});
    }
    return result;
  }

 private:
  std::vector<float> logits_;
  double log_normalizer_;
};

base::Error numerical_error(std::string message) {
  return {base::ErrorKind::kInternal, "numerical error: " + std::move(message)};
}

}  // namespace

Sampler::Sampler(SamplingParams params, std::span<const LogitsProcessor* const> chain)
    : params_(std::move(params)), seed_(params_.seed ? *params_.seed : random_seed()) {
  std::copy_if(chain.begin(), chain.end(), std::back_inserter(active_),
               [&](const LogitsProcessor* processor) { return processor->is_active(params_); });
}

base::Result<CandidateSet> Sampler::run_chain(std::span<float> logits, std::span<const TokenId> history,
                                              double xtc_uniform) const {
  const std::optional<Peak> peak = find_peak(logits);
  if (!peak) return numerical_error("the model gave a logit that is NaN or infinite, or none that is finite");
  CandidateSet set(logits, *peak);
  const StepContext context{.history = history, .xtc_uniform = xtc_uniform};
  for (const LogitsProcessor* processor : active_) {
    if (set.size() == 1) break;
    processor->apply(params_, context, set);
    if (!set.any_allowed()) return numerical_error("logit_bias and penalties leave no token to choose");
  }
  return set;
}

base::Result<Sampled> Sampler::sample(std::span<float> logits, std::span<const TokenId> history,
                                      std::uint64_t step) const {
  std::optional<RawLogprobs> raw;
  if (params_.logprobs) {
    const std::optional<Peak> peak = find_peak(logits);
    if (peak) raw.emplace(logits, peak->logit);
  }
  const StepUniforms uniforms = step_uniforms(seed_, step);
  base::Result<CandidateSet> set = run_chain(logits, history, uniforms.xtc);
  if (!set) return std::move(set).error();
  const TokenId id = set->id(draw(set->logits(), set->peak().logit, uniforms.token));
  if (!raw) return Sampled{id, std::numeric_limits<float>::quiet_NaN(), {}};
  return Sampled{id, raw->of(id), raw->top(static_cast<std::size_t>(params_.top_logprobs))};
}

base::Result<std::vector<Candidate>> Sampler::candidates(std::span<float> logits, std::span<const TokenId> history,
                                                         std::uint64_t step, std::size_t max_count) const {
  base::Result<CandidateSet> set = run_chain(logits, history, step_uniforms(seed_, step).xtc);
  if (!set) return std::move(set).error();
  return set->most_probable(max_count);
}

}  // namespace vitrine::sampling
