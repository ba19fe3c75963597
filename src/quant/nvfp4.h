#pragma once

#include <cmath>
#include <limits>

#include "quant/block.h"
#include "quant/fp4.h"
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

// Squared error of 16 elements under a scale byte.
inline float nvfp4_error(const float* values, int scale_byte) {
  const float scale = half_ue4m3(static_cast<std::uint8_t>(scale_byte));
  const float inverse = inverse_or_zero(scale);
  float error = 0.0F;
  for (std::size_t i = 0; i < 16; ++i) {
    const auto code = static_cast<std::size_t>(nearest_fp4(values[i] * inverse));
    const float rest = values[i] - scale * static_cast<float>(kFp4Doubled[code]);
    error += rest * rest;
  }
  return error;
}

// The scale byte of least error among those that map the largest magnitude near one of fp4's three largest numbers.
inline int best_nvfp4_scale(const float* values) {
  const float largest = std::abs(signed_extreme<16>(values));
  int first = 0;
  while (first < 0x7E && half_ue4m3(static_cast<std::uint8_t>(first)) * 14.0F < largest)
    ++first;
  int best = first;
  float best_error = std::numeric_limits<float>::infinity();
  for (int scale = first; scale <= std::min(first + 12, 0x7E); ++scale) {
    const float error = nvfp4_error(values, scale);
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
