#include "sampling/kernels/row_kernels.h"

// After every header: nothing inline may be compiled for this instruction set, or the linker could pick that copy for
// the whole program.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif

namespace vitrine::sampling {
namespace avx512 {
namespace {

#include "sampling/kernels/row_kernels.inc"

constexpr RowKernels kTable = {"avx512", key_range, find_block, sum_exp, shift_and_divide};

}  // namespace
}  // namespace avx512

const RowKernels& avx512_row_kernels() {
  return avx512::kTable;
}

}  // namespace vitrine::sampling

#if defined(__clang__)
#pragma clang attribute pop
#endif
