#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 32 elements, value = d * (q - 8). Byte i of qs: the low nibble is q of element i, the high nibble that of i + 16.
struct BlockQ4_0 {
  static constexpr tensor::DType kType = tensor::DType::kQ4_0;
  base::Float16 d;
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

inline Unpacked<32, 32> unpack(const BlockQ4_0& block) {
  Unpacked<32, 32> parts;
  parts.scales[0] = base::to_float(block.d);
  for (std::size_t i = 0; i < 16; ++i) {
    parts.codes[i] = static_cast<std::int8_t>(low_nibble(block.qs[i]) - 8);
    parts.codes[i + 16] = static_cast<std::int8_t>(high_nibble(block.qs[i]) - 8);
  }
  return parts;
}

// The element of the largest magnitude becomes -8.
inline void encode(const float* values, BlockQ4_0& block) {
  const float d = signed_extreme<32>(values) / -8.0F;
  const float inverse = inverse_or_zero(d);
  block.d = base::to_float16(d);
  for (std::size_t i = 0; i < 16; ++i) {
    block.qs[i] = nibbles(to_code(values[i] * inverse + 8.5F, 0, 15), to_code(values[i + 16] * inverse + 8.5F, 0, 15));
  }
}

}  // namespace vitrine::quant
