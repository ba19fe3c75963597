#include <cmath>
#include <limits>

#include "sampling/logits_processor.h"

namespace vitrine::sampling {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

// Of the logits that are not -inf, dividing by their number. In two passes: huge logits must not cancel.
double standard_deviation(std::span<const float> logits) {
  double sum = 0;
  std::size_t count = 0;
  for (const float logit : logits) {
    if (logit == kBanned) continue;
    sum += static_cast<double>(logit);
    ++count;
  }
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (const float logit : logits) {
    if (logit == kBanned) continue;
    const double distance = static_cast<double>(logit) - mean;
    squares += distance * distance;
  }
  return std::sqrt(squares / static_cast<double>(count));
}

void keep_within_sigmas(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const auto peak = static_cast<double>(set.peak().value);
  set.keep_from(at_least(peak - static_cast<double>(params.top_n_sigma) * standard_deviation(set.logits())));
}

}  // namespace

constinit const LogitsProcessor kTopNSigma = {
    .name = "top_n_sigma",
    .is_active = [](const SamplingParams& params) { return params.top_n_sigma > 0.0F; },
    .apply = keep_within_sigmas,
};

}  // namespace vitrine::sampling
