#include "sampling/logits_processor.h"

namespace vitrine::sampling {
namespace {

void keep_top_k(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const auto k = static_cast<std::size_t>(params.top_k);
  if (k >= set.size()) return;
  const std::vector<std::uint32_t> best = top_positions(set.logits(), k);
  set.keep_down_to(best.back());
}

}  // namespace

constinit const LogitsProcessor kTopK = {
    .name = "top_k",
    .is_active = [](const SamplingParams& params) { return params.top_k > 0; },
    .apply = keep_top_k,
};

}  // namespace vitrine::sampling
