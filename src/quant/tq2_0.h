#pragma once

#include "quant/tq1_0.h"
#include "quant/two_bits.h"

namespace vitrine::quant {

// 256 elements, value = d * (q - 1), q of 2 bits that lie as two_bits.h says. q = 3 is not written but decodes to 2d.
struct BlockTQ2_0 {
  static constexpr tensor::DType kType = tensor::DType::kTQ2_0;
  std::uint8_t qs[64];
  base::Float16 d;
};
static_assert(sizeof(BlockTQ2_0) == 66);

inline Unpacked<256, 256> unpack(const BlockTQ2_0& block) {
  Unpacked<256, 256> parts;
  parts.scales[0] = base::to_float(block.d);
  unpack_two_bits(block.qs, parts.codes.data());
  for (std::int8_t& code : parts.codes)
    code = static_cast<std::int8_t>(code - 1);
  return parts;
}

inline void encode(const float* values, BlockTQ2_0& block) {
  std::array<std::int8_t, 256> codes;
  block.d = encode_ternary(values, codes);
  for (std::int8_t& code : codes)
    code = static_cast<std::int8_t>(code + 1);
  pack_two_bits(codes.data(), block.qs);
}

}  // namespace vitrine::quant
