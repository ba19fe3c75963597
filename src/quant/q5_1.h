#pragma once

#include "quant/q5_0.h"

namespace vitrine::quant {

// 32 elements, value = d * q + m, q of 5 bits that lie as in Q5_0.
struct BlockQ5_1 {
  static constexpr tensor::DType kType = tensor::DType::kQ5_1;
  base::Float16 d;
  base::Float16 m;
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

inline Unpacked<32, 32, true> unpack(const BlockQ5_1& block) {
  Unpacked<32, 32, true> parts;
  parts.scales[0] = base::to_float(block.d);
  parts.offsets[0] = base::to_float(block.m);
  for (std::size_t i = 0; i < 16; ++i) {
    const int low_bit = block.qh[i / 8] >> (i % 8) & 1;
    const int high_bit = block.qh[i / 8 + 2] >> (i % 8) & 1;
    parts.codes[i] = static_cast<std::int8_t>(low_nibble(block.qs[i]) | low_bit << 4);
    parts.codes[i + 16] = static_cast<std::int8_t>(high_nibble(block.qs[i]) | high_bit << 4);
  }
  return parts;
}

// The least element becomes 0, the greatest 31.
inline void encode(const float* values, BlockQ5_1& block) {
  const auto [low, high] = std::minmax_element(values, values + 32);
  const float m = *low;
  const float d = (*high - m) / 31.0F;
  const float inverse = inverse_or_zero(d);
  std::array<int, 32> codes;
  for (std::size_t i = 0; i < 32; ++i)
    codes[i] = to_code((values[i] - m) * inverse + 0.5F, 0, 31);
  block.d = base::to_float16(d);
  block.m = base::to_float16(m);
  pack_five_bits(codes, block.qs, block.qh);
}

}  // namespace vitrine::quant
