#pragma once

#include <cstddef>
#include <span>

namespace vitrine::ops {

// Float32 activations, [num_rows, width], contiguous. Never owns.
struct Rows {
  float* data = nullptr;
  std::size_t num_rows = 0;
  std::size_t width = 0;

  float* row(std::size_t row_idx) const { return data + row_idx * width; }
  std::span<float> values() const { return {data, num_rows * width}; }
};

}  // namespace vitrine::ops
