#include "ops/expert_choice.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.h"

namespace vitrine::ops {
namespace {

// Comparisons that a NaN never wins, so that a row of them still names experts that exist.
void choose_largest(std::span<const float> logits, std::span<std::uint32_t> experts) {
  for (std::size_t rank = 0; rank < experts.size(); ++rank) {
    const auto taken = experts.first(rank);
    std::size_t best = logits.size();
    for (std::size_t expert = 0; expert < logits.size(); ++expert) {
      if (best < logits.size() && !(logits[expert] > logits[best])) continue;
      if (std::ranges::find(taken, expert) == taken.end()) best = expert;
    }
    experts[rank] = static_cast<std::uint32_t>(best);
  }
}

// In double, so that the rounding of a library's exp() does not show in the float32 result.
void weigh(std::span<const float> logits, std::span<const std::uint32_t> experts, bool normalize,
           std::span<float> weights) {
  const double largest = logits[experts.front()];
  const auto share = [&](float logit) { return std::exp(static_cast<double>(logit) - largest); };
  double sum = 0.0;
  if (normalize) {
    for (const std::uint32_t expert : experts)
      sum += share(logits[expert]);
  } else {
    for (const float logit : logits)
      sum += share(logit);
  }
  for (std::size_t rank = 0; rank < experts.size(); ++rank)
    weights[rank] = static_cast<float>(share(logits[experts[rank]]) / sum);
}

}  // namespace

void choose_experts(Rows logits, const ExpertRouting& routing, ExpertChoices& choices) {
  const std::size_t num_chosen = routing.num_chosen;
  VT_CHECK(num_chosen > 0 && num_chosen <= logits.width, "as many choices as there are experts");
  choices.num_experts = logits.width;
  choices.num_chosen = num_chosen;
  choices.experts.resize(logits.num_rows * num_chosen);
  choices.weights.resize(logits.num_rows * num_chosen);
  for (std::size_t row_idx = 0; row_idx < logits.num_rows; ++row_idx) {
    const std::span<const float> row(logits.row(row_idx), logits.width);
    const auto experts = std::span(choices.experts).subspan(row_idx * num_chosen, num_chosen);
    choose_largest(row, experts);
    weigh(row, experts, routing.normalize, std::span(choices.weights).subspan(row_idx * num_chosen, num_chosen));
  }
}

}  // namespace vitrine::ops
