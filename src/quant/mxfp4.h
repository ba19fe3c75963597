#pragma once

#include <cmath>

#include "quant/block.h"
#include "quant/fp4.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 32 elements, value = 2^(e - 127) * fp4(q). Byte i of qs: the low nibble is q of element i, the high nibble that of
// i + 16.
struct BlockMXFP4 {
  static constexpr tensor::DType kType = tensor::DType::kMXFP4;
  std::uint8_t e;
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

inline Unpacked<32, 32> unpack(const BlockMXFP4& block) {
  Unpacked<32, 32> parts;
  parts.scales[0] = half_e8m0(block.e);
  for (std::size_t i = 0; i < 16; ++i) {
    parts.codes[i] = kFp4Doubled[static_cast<std::size_t>(low_nibble(block.qs[i]))];
    parts.codes[i + 16] = kFp4Doubled[static_cast<std::size_t>(high_nibble(block.qs[i]))];
  }
  return parts;
}

// The exponent that the standard asks for: that of the largest magnitude, less that of fp4's largest number, 2.
inline void encode(const float* values, BlockMXFP4& block) {
  const float largest = std::abs(signed_extreme<32>(values));
  const int exponent = largest > 0.0F ? to_code(std::floor(std::log2(largest)) + 125.0F, 0, 254) : 0;
  block.e = static_cast<std::uint8_t>(exponent);
  const float scale = half_e8m0(block.e);
  for (std::size_t i = 0; i < 16; ++i) {
    block.qs[i] = nibbles(nearest_fp4(values[i] / scale), nearest_fp4(values[i + 16] / scale));
  }
}

}  // namespace vitrine::quant
