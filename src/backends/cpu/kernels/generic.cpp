#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/float16.h"

namespace vitrine::backends::cpu {
namespace generic {
namespace {

// In this order: each reads what the one before defines.
// clang-format off
#include "backends/cpu/kernels/simd_generic.inc"
#include "backends/cpu/kernels/partial.inc"
#include "backends/cpu/kernels/exponentials.inc"
#include "backends/cpu/kernels/elementwise.inc"
#include "backends/cpu/kernels/packed_formats.inc"
#include "backends/cpu/kernels/float_elements.inc"
#include "backends/cpu/kernels/matmul.inc"
#include "backends/cpu/kernels/decode_step.inc"
#include "backends/cpu/kernels/unpack.inc"
#include "backends/cpu/kernels/attention.inc"
#include "backends/cpu/kernels/peak.inc"
#include "backends/cpu/kernels/lane_peaks.inc"
#include "backends/cpu/kernels/screen.inc"
#include "backends/cpu/kernels/table.inc"
// clang-format on

constexpr KernelTable kTable = make_table("generic");

}  // namespace
}  // namespace generic

const KernelTable& generic_kernels() {
  return generic::kTable;
}

}  // namespace vitrine::backends::cpu
