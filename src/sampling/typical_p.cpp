#include <cmath>

#include "sampling/logits_processor.h"
#include "sampling/mass_cut.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

void keep_typical(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const std::span<const float> logits = set.logits();
  const float peak = set.peak().logit;
  const Distribution distribution = describe(logits, peak);
  // |-ln p - entropy| with -ln p = log_total - (logit - peak)
  const auto surprise_distance = [&](float logit) {
    const double below_peak = static_cast<double>(logit) - static_cast<double>(peak);
    return std::abs(distribution.log_total - below_peak - distribution.entropy);
  };
  std::vector<RankedMass> pool(logits.size());
  for (std::size_t position = 0; position < logits.size(); ++position) {
    pool[position] = {surprise_distance(logits[position]), exp_nonpositive(logits[position] - peak),
                      static_cast<std::uint32_t>(position)};
  }
  const double wanted = static_cast<double>(params.typical_p) * std::exp(distribution.log_total);
  const RankedMass cut = find_mass_cut(pool, wanted);
  set.keep_if([=](std::size_t position) {
    const double rank = surprise_distance(logits[position]);
    return rank < cut.rank || (rank == cut.rank && position <= cut.position);
  });
}

}  // namespace

constinit const LogitsProcessor kTypicalP = {
    .name = "typical_p",
    .is_active = [](const SamplingParams& params) { return params.typical_p < 1.0F; },
    .apply = keep_typical,
};

}  // namespace vitrine::sampling
