#pragma once

#include "quant/iq4_nl.h"

namespace vitrine::quant {

// 256 elements in 8 groups of 32, value = (d * (scale - 32)) * kIq4Values[q]. Scales have 6 bits: of group g the low 4
// are nibble g of scales_l, the upper 2 are bits 2g, 2g + 1 of scales_h. Group g owns 16 bytes from qs[16g], as in
// IQ4_NL.
struct BlockIQ4_XS {
  static constexpr tensor::DType kType = tensor::DType::kIQ4_XS;
  base::Float16 d;
  std::uint16_t scales_h;
  std::uint8_t scales_l[4];
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

// The scale of a group, -32 .. 31.
inline int iq4_xs_scale(const BlockIQ4_XS& block, std::size_t group) {
  const int high = block.scales_h >> (2 * group) & 3;
  return (nibble_at(block.scales_l, group) | high << 4) - 32;
}

inline Unpacked<256, 32> unpack(const BlockIQ4_XS& block) {
  Unpacked<256, 32> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 8; ++group) {
    parts.scales[group] = d * static_cast<float>(iq4_xs_scale(block, group));
    unpack_iq4(block.qs + group * 16, parts.codes.data() + group * 32);
  }
  return parts;
}

inline void encode(const float* values, BlockIQ4_XS& block) {
  const auto x = bounded<256>(values);
  const auto fitted = fit_scaled_block<Iq4Codes, 32, -32, 31>(x.data());
  block.d = base::to_float16(fitted.d);
  int high_bits = 0;
  for (std::size_t group = 0; group < 8; ++group) {
    high_bits |= (fitted.scales[group] + 32) >> 4 << (2 * group);
    pack_iq4(x.data() + group * 32, fitted.d * static_cast<float>(fitted.scales[group]), block.qs + group * 16);
  }
  block.scales_h = static_cast<std::uint16_t>(high_bits);
  for (std::size_t i = 0; i < 4; ++i) {
    block.scales_l[i] = nibbles((fitted.scales[2 * i] + 32) & 0x0F, (fitted.scales[2 * i + 1] + 32) & 0x0F);
  }
}

}  // namespace vitrine::quant
