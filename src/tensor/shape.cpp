#include "tensor/shape.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"

namespace vitrine::tensor {

Shape::Shape(std::initializer_list<std::size_t> dims)
    : Shape(std::span<const std::size_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const std::size_t> dims) : rank_(dims.size()) {
  VT_CHECK(dims.size() <= kMaxRank, "a shape has at most four dimensions");
  std::ranges::copy(dims, dims_.begin());
}

std::size_t Shape::num_rows() const {
  std::size_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < rank_; ++axis)
    rows *= dims_[axis];
  return rows;
}

std::optional<std::size_t> Shape::checked_num_elements() const {
  std::optional<std::size_t> product = 1;
  for (const std::size_t dim : dims()) {
    product = base::checked_mul(*product, dim);
    if (!product) return std::nullopt;
  }
  return product;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (axis != 0) text += ", ";
    text += std::to_string(dims_[axis]);
  }
  return text + "]";
}

}  // namespace vitrine::tensor
