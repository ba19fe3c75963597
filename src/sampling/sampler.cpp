#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <random>
#include <utility>

#include "sampling/philox.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

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

base::Error unusable_logits() {
  return numerical_error("the model gave a logit that is NaN or infinite, or none that is finite");
}

// Follows the candidates of an explanation through the chain.
class ChainWatch {
 public:
  explicit ChainWatch(Explanation& explanation) : explanation_(explanation) {}

  void note(const LogitsProcessor& processor, CandidateSet& set) {
    const std::size_t link = explanation_.chain.size();
    explanation_.chain.push_back({processor.name, num_possible(set)});
    const float peak = set.peak().value;
    const double total = sum_exp(set.logits(), peak);
    for (ExplainedCandidate& candidate : explanation_.candidates) {
      const std::optional<std::size_t> position = set.position_of(candidate.id);
      const float logit = position ? set.logits()[*position] : -std::numeric_limits<float>::infinity();
      candidate.after.push_back(std::exp(static_cast<double>(logit) - static_cast<double>(peak)) / total);
      if (std::isinf(logit) && !candidate.cut_by) candidate.cut_by = link;
    }
  }

 private:
  static std::size_t num_possible(const CandidateSet& set) {
    return static_cast<std::size_t>(
        std::ranges::count_if(set.logits(), [](float logit) { return !std::isinf(logit); }));
  }

  Explanation& explanation_;
};

std::vector<ExplainedCandidate> most_probable(std::span<const float> logits, double log_sum_exp, std::size_t count) {
  std::vector<ExplainedCandidate> candidates;
  for (const std::uint32_t position : top_positions(logits, count)) {
    const float logit = logits[position];
    candidates.push_back({.id = static_cast<TokenId>(position),
                          .logit = logit,
                          .probability = std::exp(static_cast<double>(logit) - log_sum_exp)});
  }
  return candidates;
}

// How many tokens the model finds more probable; of equals, those of lower id.
std::size_t rank_of(TokenId id, std::span<const float> logits) {
  const auto position = static_cast<std::size_t>(id);
  const float logit = logits[position];
  std::size_t rank = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    rank += static_cast<std::size_t>(logits[i] > logit || (logits[i] == logit && i < position));
  return rank;
}

Explanation::Draw explain_draw(const CandidateSet& set, float peak, std::size_t position, double uniform) {
  const std::span<const float> before = set.logits().first(position);
  const double total = sum_exp(set.logits(), peak);
  const double lowest = before.empty() ? 0.0 : sum_exp(before, peak) / total;
  return {.uniform = uniform, .lowest = lowest, .highest = sum_exp(set.logits().first(position + 1), peak) / total};
}

}  // namespace

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Sampler::Sampler(SamplingParams params, std::span<const LogitsProcessor* const> chain)
    : params_(std::move(params)), seed_(params_.seed ? *params_.seed : random_seed()) {
  std::copy_if(chain.begin(), chain.end(), std::back_inserter(active_),
               [&](const LogitsProcessor* processor) { return processor->is_active(params_); });
}

template <typename AfterLink>
base::Result<CandidateSet> Sampler::run_chain(std::span<float> logits, std::span<const TokenId> history,
                                              double xtc_uniform, AfterLink after_link) const {
  const std::optional<base::RowPeak> peak = find_peak(logits);
  if (!peak) return unusable_logits();
  CandidateSet set(logits, *peak);
  const StepContext context{.history = history, .xtc_uniform = xtc_uniform};
  for (const LogitsProcessor* processor : active_) {
    if (set.size() == 1) break;
    processor->apply(params_, context, set);
    if (!set.any_allowed()) return numerical_error("logit_bias and penalties leave no token to choose");
    after_link(*processor, set);
  }
  return set;
}

base::Result<CandidateSet> Sampler::run_chain(std::span<float> logits, std::span<const TokenId> history,
                                              double xtc_uniform) const {
  return run_chain(logits, history, xtc_uniform, [](const LogitsProcessor&, CandidateSet&) {});
}

base::Result<Sampled> Sampler::sample(std::span<float> logits, std::span<const TokenId> history,
                                      std::uint64_t step) const {
  std::optional<RawLogprobs> raw;
  if (params_.logprobs) {
    const std::optional<base::RowPeak> peak = find_peak(logits);
    if (peak) raw.emplace(logits, peak->value);
  }
  const StepUniforms uniforms = step_uniforms(seed_, step);
  base::Result<CandidateSet> set = run_chain(logits, history, uniforms.xtc);
  if (!set) return std::move(set).error();
  const TokenId id = set->id(draw(set->logits(), set->peak().value, uniforms.token));
  if (!raw) return Sampled{id, std::numeric_limits<float>::quiet_NaN(), {}};
  return Sampled{id, raw->of(id), raw->top(static_cast<std::size_t>(params_.top_logprobs))};
}

bool Sampler::takes_peak() const {
  return !params_.logprobs && params_.temperature < kGreedyTemperature && !active_.empty() &&
         active_.front() == &kTemperature;
}

base::Result<Sampled> Sampler::choose(const std::optional<base::RowPeak>& peak) const {
  if (!peak) return unusable_logits();
  return Sampled{static_cast<TokenId>(peak->position), std::numeric_limits<float>::quiet_NaN(), {}};
}

base::Result<std::vector<Candidate>> Sampler::candidates(std::span<float> logits, std::span<const TokenId> history,
                                                         std::uint64_t step, std::size_t max_count) const {
  base::Result<CandidateSet> set = run_chain(logits, history, step_uniforms(seed_, step).xtc);
  if (!set) return std::move(set).error();
  return set->most_probable(max_count);
}

base::Result<Explanation> Sampler::explain(std::span<const float> logits, std::span<const TokenId> history,
                                           std::uint64_t step, std::size_t max_candidates) const {
  const StepUniforms uniforms = step_uniforms(seed_, step);
  std::vector<float> row(logits.begin(), logits.end());
  const auto chosen = sample(row, history, step);
  if (!chosen) return chosen.error();
  Explanation explanation{.peak = find_peak(logits)->value, .chosen = chosen->id};
  explanation.log_sum_exp = static_cast<double>(explanation.peak) + std::log(sum_exp(logits, explanation.peak));
  explanation.rank = rank_of(chosen->id, logits);
  explanation.candidates = most_probable(logits, explanation.log_sum_exp, max_candidates);
  if (explanation.rank >= explanation.candidates.size()) {
    const float logit = logits[static_cast<std::size_t>(chosen->id)];
    explanation.candidates.push_back({.id = chosen->id,
                                      .logit = logit,
                                      .probability = std::exp(static_cast<double>(logit) - explanation.log_sum_exp)});
  }
  row.assign(logits.begin(), logits.end());
  ChainWatch watch(explanation);
  auto set = run_chain(row, history, uniforms.xtc, [&watch](const LogitsProcessor& processor, CandidateSet& survivors) {
    watch.note(processor, survivors);
  });
  if (!set) return std::move(set).error();
  const float peak = set->peak().value;
  explanation.entropy_bits = describe(set->logits(), peak).entropy / std::numbers::ln2;
  const std::optional<std::size_t> position = set->position_of(chosen->id);
  if (set->size() > 1) explanation.draw = explain_draw(*set, peak, *position, uniforms.token);
  return explanation;
}

}  // namespace vitrine::sampling
