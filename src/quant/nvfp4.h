#pragma once

#include <cmath>
#include <limits>

#include "quant/fp4.h"
#include "quant/scale_search.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 64 elements in four groups of 16, value = ue4m3(d[g]) * fp4(q). Byte 8g + i of qs: the low nibble is q of element i
// of group g, the high nibble that of i + 8.
struct BlockNVFP4 {
  static constexpr tensor::DType kType = tensor::DType::kNVFP4;
  std::uint8_t d[4];
  std::uint8_t qs[32];
};
static_assert(sizeof(BlockNVFP4) == 36);

inline Unpacked<64, 16> unpack(const BlockNVFP4& block) {
  Unpacked<64, 16> parts;
  for (std::size_t group = 0; group < 4; ++group) {
    parts.scales[group] = half_ue4m3(block.d[group]);
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint8_t byte = block.qs[group * 8 + i];
      parts.codes[group * 16 + i] = kFp4Doubled[static_cast<std::size_t>(low_nibble(byte))];
      parts.codes[group * 16 + i + 8] = kFp4Doubled[static_cast<std::size_t>(high_nibble(byte))];
    }
  }
  return parts;
}

// The scale byte of least error among those that map the largest magnitude near one of fp4's three largest numbers.
inline int best_nvfp4_scale(const float* values) {
  std::array<float, 16> magnitudes;
  for (std::size_t i = 0; i < 16; ++i)
    magnitudes[i] = std::abs(values[i]);
  const float largest = signed_extreme<16>(magnitudes.data());
  int first = 0;
  while (first < 0x7E && half_ue4m3(static_cast<std::uint8_t>(first)) * 14.0F < largest)
    ++first;
  int best = first;
  float best_error = std::numeric_limits<float>::infinity();
  for (int scale = first; scale <= std::min(first + 12, 0x7E); ++scale) {
    const float unit = half_ue4m3(static_cast<std::uint8_t>(scale));
    const float error = fit_scale<Fp4Magnitudes, 16>(magnitudes.data(), unit).error;
    if (error < best_error) {
      best = scale;
      best_error = error;
    }
  }
  return best;
}

inline void encode(const float* values, BlockNVFP4& block) {
  for (std::size_t group = 0; group < 4; ++group) {
    const float* x = values + group * 16;
    block.d[group] = static_cast<std::uint8_t>(best_nvfp4_scale(x));
    const float inverse = inverse_or_zero(half_ue4m3(block.d[group]));
    for (std::size_t i = 0; i < 8; ++i) {
      block.qs[group * 8 + i] = nibbles(nearest_fp4(x[i] * inverse), nearest_fp4(x[i + 8] * inverse));
    }
  }
}

}  // namespace vitrine::quant
