#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "sampling/kernels/row_kernels.h"

// Passes over a whole row of logits. Few of a vocabulary's logits matter to a step, so the passes look at blocks first.
namespace vitrine::sampling {

// visit(position), in order, for every logit >= lowest. `visit` may overwrite logits at or before its position.
template <typename Visit>
void for_each_at_least(std::span<const float> logits, float lowest, Visit visit) {
  const RowKernels& kernels = row_kernels();
  const std::size_t count = logits.size();
  for (std::size_t begin = 0; begin < count; begin += kScanBlock) {
    begin = kernels.find_block(logits.data(), count, begin, lowest);
    for (std::size_t i = begin; i < std::min(begin + kScanBlock, count); ++i) {
      if (logits[i] >= lowest) visit(i);
    }
  }
}

}  // namespace vitrine::sampling
