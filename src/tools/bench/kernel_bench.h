#pragma once

#include <cstddef>
#include <optional>

#include "ops/backend.h"

namespace vitrine::tools {

// One operation, done again and again on the same operands: seconds that it takes (the median of five runs of at least
// a twentieth of a second each, after one that is not counted), and what it has to do.
struct KernelTiming {
  double seconds = 0.0;
  double bytes = 0.0;  // of weights, or keys and values, that it reads once
  double ops = 0.0;    // multiplications and additions of its products
};

// rows [num_rows, in_features] times a matrix of some type. nullopt where that type can't be made here: it has no
// encoder.
struct ProductShape {
  tensor::DType type = tensor::DType::kF32;
  std::size_t num_rows = 1;
  std::size_t out_features = 0;
  std::size_t in_features = 0;
  ops::Role role = ops::Role::kGenerated;
};
std::optional<KernelTiming> time_product(ops::Backend& backend, const ProductShape& shape);

// Multiplications and additions per second of a product with a matrix that stays in a cache; for a type without an
// encoder, of q4_k.
double multiply_rate(ops::Backend& backend, tensor::DType type, std::size_t num_rows, ops::Role role);

// Attention of the last num_rows of `length` positions of one sequence.
struct AttentionBench {
  tensor::DType type = tensor::DType::kF16;  // of keys and values
  std::size_t num_rows = 1;
  std::size_t length = 0;
  std::size_t num_heads = 0;
  std::size_t num_kv_heads = 0;
  std::size_t head_dim = 0;
};
// Throws base::Exception where the cache does not fit.
KernelTiming time_attention(ops::Backend& backend, const AttentionBench& shape);

}  // namespace vitrine::tools
