#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 32 elements, value = d * (q - 16), q of 5 bits. The low 4 bits lie as in Q4_0 (elements i and i + 16 in byte i of
// qs); bit 4 of element i is bit i of the little-endian number qh.
struct BlockQ5_0 {
  static constexpr tensor::DType kType = tensor::DType::kQ5_0;
  base::Float16 d;
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

inline Unpacked<32, 32> unpack(const BlockQ5_0& block) {
  Unpacked<32, 32> parts;
  parts.scales[0] = base::to_float(block.d);
  for (std::size_t i = 0; i < 16; ++i) {
    const int low_bit = block.qh[i / 8] >> (i % 8) & 1;
    const int high_bit = block.qh[i / 8 + 2] >> (i % 8) & 1;
    parts.codes[i] = static_cast<std::int8_t>((low_nibble(block.qs[i]) | low_bit << 4) - 16);
    parts.codes[i + 16] = static_cast<std::int8_t>((high_nibble(block.qs[i]) | high_bit << 4) - 16);
  }
  return parts;
}

// Spreads 32 codes of 5 bits over the two fields that Q5_0 and Q5_1 share.
inline void pack_five_bits(const std::array<int, 32>& codes, std::uint8_t* qs, std::uint8_t* qh) {
  std::uint32_t high_bits = 0;
  for (std::size_t i = 0; i < 32; ++i)
    high_bits |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  std::memcpy(qh, &high_bits, sizeof(high_bits));
  for (std::size_t i = 0; i < 16; ++i)
    qs[i] = nibbles(codes[i] & 0x0F, codes[i + 16] & 0x0F);
}

// The element of the largest magnitude becomes -16.
inline void encode(const float* values, BlockQ5_0& block) {
  const float d = signed_extreme<32>(values) / -16.0F;
  const float inverse = inverse_or_zero(d);
  std::array<int, 32> codes;
  for (std::size_t i = 0; i < 32; ++i)
    codes[i] = to_code(values[i] * inverse + 16.5F, 0, 31);
  block.d = base::to_float16(d);
  pack_five_bits(codes, block.qs, block.qh);
}

}  // namespace vitrine::quant
