#include "sampling/kernels/row_kernels.h"

// Vectors wider than the machine's have no fixed calling convention; none is passed to another unit.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace vitrine::sampling {
namespace generic {
namespace {

#include "sampling/kernels/row_kernels.inc"

constexpr RowKernels kTable = {"generic", key_range, find_block, sum_exp, shift_and_divide};

}  // namespace
}  // namespace generic

const RowKernels& generic_row_kernels() {
  return generic::kTable;
}

}  // namespace vitrine::sampling
