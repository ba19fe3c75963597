#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "sampling/candidate_set.h"
#include "sampling/explanation.h"
#include "sampling/logits_processor.h"
#include "sampling/sampling_params.h"

namespace vitrine::sampling {

struct TokenLogprob {
  TokenId id;
  float logprob;
};

// Log-probabilities are those of the model: the log-softmax of the logits as they came in, before bias, penalties,
// temperature and truncation. Without SamplingParams::logprobs `logprob` is NaN and the list empty.
struct Sampled {
  TokenId id;
  float logprob;
  std::vector<TokenLogprob> top_logprobs;  // [top_logprobs], most probable first
};

// A seed from the operating system.
std::uint64_t random_seed();

// Chooses the tokens of one request. The parameters must have passed validate(). Holds no state that a step changes:
// the token depends on logits, history, seed and step alone, so a request gives the same text whatever runs beside it
// and after any interruption. Safe to call from several threads.
//
// Both functions work in place on `logits` [vocab_size] and fail (kInternal, "numerical error") when a logit is NaN or
// +inf, when none is finite, or when the request's own bans leave no token. `history` is the prompt and what has been
// generated; `step` counts the generated tokens.
class Sampler {
 public:
  explicit Sampler(SamplingParams params, std::span<const LogitsProcessor* const> chain = default_chain());

  base::Result<Sampled> sample(std::span<float> logits, std::span<const TokenId> history, std::uint64_t step) const;

  // Whether sample() gives the largest logit, whatever the others are; then choose() does the same, with what
  // find_peak() says of the logits.
  bool takes_peak() const;
  base::Result<Sampled> choose(const std::optional<base::RowPeak>& peak) const;

  // What sample() would choose from: the `max_count` most probable survivors of the chain, most probable first.
  base::Result<std::vector<Candidate>> candidates(std::span<float> logits, std::span<const TokenId> history,
                                                  std::uint64_t step, std::size_t max_count) const;

  // Why sample() chooses what it chooses, with the `max_candidates` most probable tokens of the model. Leaves the
  // logits as they are.
  base::Result<Explanation> explain(std::span<const float> logits, std::span<const TokenId> history, std::uint64_t step,
                                    std::size_t max_candidates) const;

  const SamplingParams& params() const { return params_; }
  // The request's seed, or the one taken from the operating system in its place.
  std::uint64_t seed() const { return seed_; }

 private:
  // `after_link(processor, set)` follows each link that ran.
  template <typename AfterLink>
  base::Result<CandidateSet> run_chain(std::span<float> logits, std::span<const TokenId> history, double xtc_uniform,
                                       AfterLink after_link) const;
  base::Result<CandidateSet> run_chain(std::span<float> logits, std::span<const TokenId> history,
                                       double xtc_uniform) const;

  SamplingParams params_;
  std::uint64_t seed_;
  std::vector<const LogitsProcessor*> active_;  // in the order of the chain
};

}  // namespace vitrine::sampling
