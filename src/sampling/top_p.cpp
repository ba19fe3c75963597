#include <limits>

#include "sampling/logits_processor.h"
#include "sampling/mass_cut.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

// The candidates whose logit lies at most `depth` below the peak.
MassPool gather(std::span<const float> logits, float peak, float depth) {
  MassPool pool;
  for_each_at_least(logits, peak - depth, [&](std::size_t position) {
    const float logit = logits[position];
    pool.add({-static_cast<double>(logit), exp_nonpositive(logit - peak), static_cast<std::uint32_t>(position)});
  });
  return pool;
}

// Most of the mass lies near the peak, so the pool to select from grows only as far as the mass asks for.
MassPool gather_mass(std::span<const float> logits, float peak, double wanted) {
  for (const float depth : {2.0F, 4.0F, 6.0F, 8.0F, 10.0F, 12.0F, 16.0F}) {
    MassPool pool = gather(logits, peak, depth);
    if (pool.mass >= wanted) return pool;
  }
  return gather(logits, peak, std::numeric_limits<float>::infinity());
}

void keep_nucleus(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const float peak = set.peak().value;
  const double wanted = static_cast<double>(params.top_p) * sum_exp(set.logits(), peak);
  MassPool pool = gather_mass(set.logits(), peak, wanted);
  set.keep_down_to(find_mass_cut(pool.members, wanted).position);
}

}  // namespace

constinit const LogitsProcessor kTopP = {
    .name = "top_p",
    .is_active = [](const SamplingParams& params) { return params.top_p < 1.0F; },
    .apply = keep_nucleus,
};

}  // namespace vitrine::sampling
