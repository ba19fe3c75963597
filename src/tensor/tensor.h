#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace vitrine::tensor {

// Read-only view of a tensor in row-major order. Never owns: whoever made it (a mapped file, a Tensor) must outlive it.
struct TensorView {
  DType type = DType::kF32;
  Shape shape;
  const std::byte* data = nullptr;

  std::size_t row_bytes() const { return *dtype_bytes(type, shape.row_elements()); }
  std::size_t size_bytes() const { return shape.num_rows() * row_bytes(); }
  std::span<const std::byte> bytes() const { return {data, size_bytes()}; }
  const std::byte* row(std::size_t row_idx) const { return data + row_idx * row_bytes(); }
};

}  // namespace vitrine::tensor
