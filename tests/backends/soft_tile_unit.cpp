// The tile unit's kernels on registers in memory, so that a processor with AVX512-BF16 but without tiles can run them.
#include "backends/soft_tile_unit.h"

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/float16.h"

#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

// After every header, as in kernels/amx.cpp.
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16,avx2,fma,f16c")

namespace vitrine::backends::cpu {
namespace soft_tiles {
namespace {

struct Registers {
  bool configured = false;
  alignas(64) std::uint8_t tiles[8][16][64];
};
thread_local Registers registers;

// Without begin_tiles() the processor would fault.
std::uint8_t (&tile(int idx))[16][64] {
  if (!registers.configured) std::abort();
  return registers.tiles[idx];
}

void begin_tiles() {
  registers.configured = true;
}
void end_tiles() {
  registers.configured = false;
}
template <int kTile>
void zero_tile() {
  std::memset(tile(kTile), 0, sizeof(tile(kTile)));
}
template <int kTile>
void load_tile(const void* p) {
  std::memcpy(tile(kTile), p, sizeof(tile(kTile)));
}
template <int kTile>
void store_tile(void* p) {
  std::memcpy(p, tile(kTile), sizeof(tile(kTile)));
}

// Denormals are zero where they go in and where they come out.
float flushed(float x) {
  return __builtin_fabsf(x) < 0x1p-126F ? __builtin_copysignf(0.0F, x) : x;
}
float half_at(const std::uint8_t* row, std::size_t idx) {
  std::uint8_t bytes[4] = {0, 0, row[2 * idx], row[2 * idx + 1]};
  float value;
  std::memcpy(&value, bytes, sizeof(value));
  return flushed(value);
}

// TDPBF16PS as the manual's pseudocode has it.
template <int kSum, int kRows, int kWeights>
void multiply_tiles() {
  for (std::size_t m = 0; m < 16; ++m) {
    for (std::size_t n = 0; n < 16; ++n) {
      float even = 0.0F;
      float odd = 0.0F;
      for (std::size_t k = 0; k < 16; ++k) {
        const std::uint8_t* row = tile(kRows)[m];
        const std::uint8_t* weights = tile(kWeights)[k];
        even = flushed(__builtin_fmaf(half_at(row, 2 * k), half_at(weights, 2 * n), even));
        odd = flushed(__builtin_fmaf(half_at(row, 2 * k + 1), half_at(weights, 2 * n + 1), odd));
      }
      float sum;
      std::memcpy(&sum, tile(kSum)[m] + 4 * n, sizeof(sum));
      sum = flushed(flushed(sum) + flushed(even + odd));
      std::memcpy(tile(kSum)[m] + 4 * n, &sum, sizeof(sum));
    }
  }
}

// In this order: each reads what the one before defines.
// clang-format off
#include "backends/cpu/kernels/simd_avx512.inc"
#include "backends/cpu/kernels/partial.inc"
#include "backends/cpu/kernels/exponentials.inc"
#include "backends/cpu/kernels/packed_formats.inc"
#include "backends/cpu/kernels/float_elements.inc"
#include "backends/cpu/kernels/decode_step.inc"
#include "backends/cpu/kernels/bf16_slabs.inc"
#include "backends/cpu/kernels/tile_unit.inc"
// clang-format on

constexpr TileUnit kTileUnit = make_tile_unit();

}  // namespace
}  // namespace soft_tiles

const TileUnit& soft_tile_unit() {
  return soft_tiles::kTileUnit;
}

}  // namespace vitrine::backends::cpu
