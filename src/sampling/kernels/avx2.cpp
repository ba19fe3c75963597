#include "sampling/kernels/row_kernels.h"

// After every header: nothing inline may be compiled for this instruction set, or the linker could pick that copy for
// the whole program.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
// Vectors wider than the machine's have no fixed calling convention; none is passed to another unit.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace vitrine::sampling {
namespace avx2 {
namespace {

#include "sampling/kernels/row_kernels.inc"

constexpr RowKernels kTable = {"avx2", key_range, find_block, sum_exp, shift_and_divide};

}  // namespace
}  // namespace avx2

const RowKernels& avx2_row_kernels() {
  return avx2::kTable;
}

}  // namespace vitrine::sampling

#if defined(__clang__)
#pragma clang attribute pop
#endif
