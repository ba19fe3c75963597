#pragma once

#include <cstddef>

namespace vitrine::base {

// The largest value of a row and where it stands, the first of equals.
struct RowPeak {
  float value = 0.0F;
  std::size_t position = 0;
};

}  // namespace vitrine::base
