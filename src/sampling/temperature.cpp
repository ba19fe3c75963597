#include <cmath>

#include "sampling/logits_processor.h"

namespace vitrine::sampling {
namespace {

void divide_by_temperature(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const float temperature = params.temperature;
  const base::RowPeak peak = set.peak();
  if (temperature < kGreedyTemperature) return set.keep_only(peak.position);
  // Softmax does not see a common shift: where the quotient would leave the range of a float, the peak moves to 0
  // first.
  const float shift = std::isfinite(peak.value / temperature) ? 0.0F : peak.value;
  set.shift_and_divide(shift, temperature);
}

}  // namespace

constinit const LogitsProcessor kTemperature = {
    .name = "temperature",
    .is_active = [](const SamplingParams& params) { return params.temperature != 1.0F; },
    .apply = divide_by_temperature,
};

}  // namespace vitrine::sampling
