#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/rows.h"

namespace vitrine::ops {

// Which experts of a mixture each row of a batch goes to, best first, and what their answers are multiplied with.
// Choice i belongs to row i / num_chosen.
struct ExpertChoices {
  std::size_t num_experts = 0;
  std::size_t num_chosen = 0;          // per row
  std::vector<std::uint32_t> experts;  // [num_rows, num_chosen]
  std::vector<float> weights;          // [num_rows, num_chosen]

  std::size_t num_choices() const { return experts.size(); }
};

struct ExpertRouting {
  std::size_t num_chosen = 0;
  bool normalize = true;  // the weights of a row's choices sum to 1; else they are their share among all experts
};

// Chooses by the router's logits [num_rows, num_experts]: the largest first, the lower index among equals; weights are
// a softmax (Shazeer et al., arXiv 1701.06538; Jiang et al., arXiv 2401.04088). A row's result depends on its logits
// alone.
void choose_experts(Rows logits, const ExpertRouting& routing, ExpertChoices& choices);

}  // namespace vitrine::ops
