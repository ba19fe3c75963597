#pragma once

#include <cstddef>
#include <optional>

#include "backends/cpu/kernels/kernel_table.h"

namespace vitrine::backends::cpu {

// More rows at once wait for multiplications rather than for weights.
inline constexpr std::size_t kMaxScreenedRows = 2;

// At least the length of a row of activations as the products read it; nothing where products could become infinite.
std::optional<float> length_of_row(const std::int8_t* codes, const GroupFactors* factors, std::size_t k);

// When to screen. Where many tiles are left, screening has cost more than it saved: then some steps go without, twice
// as many each time.
class ScreeningPace {
 public:
  // Whether the step that begins is to be screened.
  bool is_due();
  // Whether so few tiles are left that they alone are to be computed.
  bool is_worthwhile(std::size_t num_left, std::size_t num_tiles);

 private:
  std::size_t pause_ = 0;
  std::size_t num_paused_ = 0;
};

}  // namespace vitrine::backends::cpu
