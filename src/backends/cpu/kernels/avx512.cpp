#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/float16.h"

// g++ 12 warns of the deliberately undefined operands inside its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

// After every header: nothing inline from the standard library may be compiled for this instruction set, or the linker
// could pick that copy for the whole program.

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")

namespace vitrine::backends::cpu {
namespace avx512 {
namespace {

// In this order: each reads what the one before defines.
// clang-format off
#include "backends/cpu/kernels/simd_avx512.inc"
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

constexpr KernelTable kTable = make_table("avx512");

}  // namespace
}  // namespace avx512

const KernelTable& avx512_kernels() {
  return avx512::kTable;
}

}  // namespace vitrine::backends::cpu
