#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 32 elements, value = d * q + m. Byte i of qs: the low nibble is q of element i, the high nibble that of i + 16.
struct BlockQ4_1 {
  static constexpr tensor::DType kType = tensor::DType::kQ4_1;
  base::Float16 d;
  base::Float16 m;
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

inline Unpacked<32, 32, true> unpack(const BlockQ4_1& block) {
  Unpacked<32, 32, true> parts;
  parts.scales[0] = base::to_float(block.d);
  parts.offsets[0] = base::to_float(block.m);
  for (std::size_t i = 0; i < 16; ++i) {
    parts.codes[i] = static_cast<std::int8_t>(low_nibble(block.qs[i]));
    parts.codes[i + 16] = static_cast<std::int8_t>(high_nibble(block.qs[i]));
  }
  return parts;
}

// The least element becomes 0, the greatest 15.
inline void encode(const float* values, BlockQ4_1& block) {
  const auto [low, high] = std::minmax_element(values, values + 32);
  const float m = *low;
  const float d = (*high - m) / 15.0F;
  const float inverse = inverse_or_zero(d);
  block.d = base::to_float16(d);
  block.m = base::to_float16(m);
  for (std::size_t i = 0; i < 16; ++i) {
    block.qs[i] = nibbles(to_code((values[i] - m) * inverse + 0.5F, 0, 15),
                          to_code((values[i + 16] - m) * inverse + 0.5F, 0, 15));
  }
}

}  // namespace vitrine::quant
