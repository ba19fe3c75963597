#pragma once

#include "quant/block.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements, value = d * qs[i]; bsums[g] is the sum of qs over elements 16g .. 16g + 15. Activations only: the
// partner of the formats with blocks of 256.
struct BlockQ8_K {
  static constexpr tensor::DType kType = tensor::DType::kQ8_K;
  float d;
  std::int8_t qs[256];
  std::int16_t bsums[16];
};
static_assert(sizeof(BlockQ8_K) == 292);

inline Unpacked<256, 256> unpack(const BlockQ8_K& block) {
  Unpacked<256, 256> parts;
  parts.scales[0] = block.d;
  std::copy_n(block.qs, 256, parts.codes.data());
  return parts;
}

// The largest magnitude becomes 127.
inline void encode(const float* values, BlockQ8_K& block) {
  const float largest = std::abs(signed_extreme<256>(values));
  const float inverse = largest == 0.0F ? 0.0F : 127.0F / largest;
  block.d = inverse_or_zero(inverse) + nan_unless_finite<256>(values);
  for (std::size_t i = 0; i < 256; ++i) {
    block.qs[i] = static_cast<std::int8_t>(round_to_code(values[i] * inverse, -127, 127));
  }
  for (std::size_t group = 0; group < 16; ++group) {
    int sum = 0;
    for (std::size_t i = 0; i < 16; ++i)
      sum += block.qs[group * 16 + i];
    block.bsums[group] = static_cast<std::int16_t>(sum);
  }
}

}  // namespace vitrine::quant
