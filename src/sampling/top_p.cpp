#include <limits>

#include "sampling/logits_processor.h"
#include "sampling/mass_cut.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

struct Pool {
  std::vector<RankedMass> members;
  double mass = 0;
};

// The candidates whose logit lies at most `depth` below the peak.
Pool gather(std::span<const float> logits, float peak, float depth) {
  Pool pool;
  const float lowest = peak - depth;
  for (std::size_t position = 0; position < logits.size(); ++position) {
    if (!(logits[position] >= lowest)) continue;
    const float mass = exp_nonpositive(logits[position] - peak);
    pool.members.push_back({-static_cast<double>(logits[position]), mass, static_cast<std::uint32_t>(position)});
    pool.mass += static_cast<double>(mass);
  }
  return pool;
}

// Most of the mass lies near the peak, so the pool to select from grows only as far as the mass asks for.
Pool gather_mass(std::span<const float> logits, float peak, double wanted) {
  for (const float depth : {2.0F, 5.0F, 10.0F, 20.0F}) {
    Pool pool = gather(logits, peak, depth);
    if (pool.mass >= wanted) return pool;
  }
  return gather(logits, peak, std::numeric_limits<float>::infinity());
}

void keep_nucleus(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const float peak = set.peak().logit;
  const std::span<const float> logits = set.logits();
  const double wanted = static_cast<double>(params.top_p) * sum_exp(logits, peak);
  Pool pool = gather_mass(logits, peak, wanted);
  const std::size_t cut_position = find_mass_cut(pool.members, wanted).position;
  const float cut_logit = logits[cut_position];
  set.keep_if([=](std::size_t position) {
    return logits[position] > cut_logit || (logits[position] == cut_logit && position <= cut_position);
  });
}

}  // namespace

constinit const LogitsProcessor kTopP = {
    .name = "top_p",
    .is_active = [](const SamplingParams& params) { return params.top_p < 1.0F; },
    .apply = keep_nucleus,
};

}  // namespace vitrine::sampling
