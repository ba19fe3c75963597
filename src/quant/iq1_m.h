#pragma once

#include "quant/iq1_s.h"

namespace vitrine::quant {

// 256 elements in 16 groups of 16, each of two points of kIq1Grid. value = (d * (2s + 1)) * (grid +- 1/8). Of point j:
// the index is qs[j] with the low 3 bits of nibble j of qh above it; the nibble's bit 3 set means - 1/8. Of group g: s
// is bits 3(g % 4) .. 3(g % 4) + 2 of scales[g / 4]. The top nibbles of the four scales are the float16 d, lowest
// first.
struct BlockIQ1_M {
  static constexpr tensor::DType kType = tensor::DType::kIQ1_M;
  std::uint8_t qs[32];
  std::uint8_t qh[16];
  std::uint16_t scales[4];
};
static_assert(sizeof(BlockIQ1_M) == 56);

inline Unpacked<256, 16> unpack(const BlockIQ1_M& block) {
  Unpacked<256, 16> parts;
  int d_bits = 0;
  for (std::size_t i = 0; i < 4; ++i)
    d_bits |= block.scales[i] >> 12 << (4 * i);
  const float d = base::to_float(base::Float16{static_cast<std::uint16_t>(d_bits)});
  for (std::size_t group = 0; group < 16; ++group) {
    const int scale = block.scales[group / 4] >> (3 * (group % 4)) & 7;
    parts.scales[group] = d * static_cast<float>(2 * scale + 1) * 0.125F;
  }
  for (std::size_t j = 0; j < 32; ++j) {
    const int high = nibble_at(block.qh, j);
    const auto index = static_cast<std::size_t>(block.qs[j] | (high & 7) << 8);
    write_shifted_point(index, (high & 8) != 0, parts.codes.data() + j * 8);
  }
  return parts;
}

}  // namespace vitrine::quant
