#pragma once

#include <cstddef>

#include "ops/backend.h"

namespace vitrine::tools {

// Multiplications and additions per second of a backend: `num_rows` rows of one role times a matrix of `type` that
// stays in a cache, again and again for about a third of a second. The median of its runs.
double multiply_rate(ops::Backend& backend, tensor::DType type, std::size_t num_rows, ops::Role role);

}  // namespace vitrine::tools
