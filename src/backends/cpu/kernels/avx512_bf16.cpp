// Products of bf16 pairs by AVX512-BF16. Everything else on this level is what AVX-512 does.
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

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16,avx2,fma,f16c")

namespace vitrine::backends::cpu {
namespace avx512_bf16 {
namespace {

// In this order: each reads what the one before defines.
// clang-format off
#include "backends/cpu/kernels/simd_avx512.inc"
#include "backends/cpu/kernels/partial.inc"
#include "backends/cpu/kernels/exponentials.inc"
#include "backends/cpu/kernels/float_elements.inc"
#include "backends/cpu/kernels/bf16_slabs.inc"
#include "backends/cpu/kernels/bf16_pairs.inc"
// clang-format on

constexpr TileUnit kPairUnit = make_pair_unit();

}  // namespace
}  // namespace avx512_bf16

const TileUnit& avx512_pair_unit() {
  return avx512_bf16::kPairUnit;
}

}  // namespace vitrine::backends::cpu
