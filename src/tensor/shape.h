#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace vitrine::tensor {

// Up to four dimensions, outermost first, the last one contiguous: a weight matrix is [out_features, in_features].
// (GGUF files list them the other way round; the loader turns them.) A scalar has rank 0 and one element.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::size_t> dims);
  explicit Shape(std::span<const std::size_t> dims);

  std::size_t rank() const { return rank_; }
  std::size_t operator[](std::size_t axis) const { return dims_[axis]; }
  std::span<const std::size_t> dims() const { return {dims_.data(), rank_}; }

  // Elements of one row (the last dimension; 1 for a scalar) and the number of rows. The product of the
  // dimensions must fit (see checked_num_elements) before these are called on a shape from a file.
  std::size_t row_elements() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  std::size_t num_rows() const;
  std::size_t num_elements() const { return num_rows() * row_elements(); }
  std::optional<std::size_t> checked_num_elements() const;

  std::string to_string() const;  // "[49152, 576]"
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::size_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

}  // namespace vitrine::tensor
