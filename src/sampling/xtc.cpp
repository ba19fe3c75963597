#include <cmath>
#include <limits>

#include "sampling/logits_processor.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

struct Leaders {
  std::size_t count = 0;  // candidates at or above the threshold
  std::size_t last = 0;   // position of the least probable of them
};

Leaders find_leaders(CandidateSet& set, float threshold) {
  const std::span<const float> logits = set.logits();
  const float peak = set.peak().value;
  const double log_ratio = std::log(static_cast<double>(threshold) * sum_exp(logits, peak));
  Leaders leaders;
  for_each_at_least(logits, at_least(static_cast<double>(peak) + log_ratio), [&](std::size_t position) {
    if (leaders.count == 0 || logits[position] <= logits[leaders.last]) leaders.last = position;
    ++leaders.count;
  });
  return leaders;
}

void exclude_top_choices(const SamplingParams& params, const StepContext& context, CandidateSet& set) {
  if (context.xtc_uniform > static_cast<double>(params.xtc_probability)) return;
  const Leaders leaders = find_leaders(set, params.xtc_threshold);
  if (leaders.count < 2) return;
  if (set.size() - (leaders.count - 1) < static_cast<std::size_t>(params.xtc_min_keep)) return;
  const std::span<const float> logits = set.logits();
  const float last_logit = logits[leaders.last];
  set.keep_if(-std::numeric_limits<float>::infinity(), [=](std::size_t position) {
    return logits[position] < last_logit || (logits[position] == last_logit && position >= leaders.last);
  });
}

}  // namespace

constinit const LogitsProcessor kXtc = {
    .name = "xtc",
    .is_active =
        [](const SamplingParams& params) { return params.xtc_probability > 0.0F && params.xtc_threshold <= 0.5F; },
    .apply = exclude_top_choices,
};

}  // namespace vitrine::sampling
