#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 16 groups of 16, each of two points of kIq2SGrid. value = (d * (0.5 + s) / 4) * signed grid element.
// Point j: the index is qs[j] with bits 2(j % 4), 2(j % 4) + 1 of qh[j / 4] above it, the signs are signs[j]. s is
// nibble g of scales.
struct BlockIQ2_S {
  static constexpr tensor::DType kType = tensor::DType::kIQ2_S;
  base::Float16 d;
  std::uint8_t qs[32];
  std::uint8_t signs[32];
  std::uint8_t qh[8];
  std::uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82);

inline Unpacked<256, 16> unpack(const BlockIQ2_S& block) {
  Unpacked<256, 16> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 16; ++group) {
    parts.scales[group] = d * (0.5F + static_cast<float>(nibble_at(block.scales, group))) * 0.25F;
  }
  for (std::size_t j = 0; j < 32; ++j) {
    const int high = block.qh[j / 4] >> (2 * (j % 4)) & 3;
    const auto index = static_cast<std::size_t>(block.qs[j] | high << 8);
    write_point(kIq2SGrid[index], block.signs[j], parts.codes.data() + j * 8);
  }
  return parts;
}

}  // namespace vitrine::quant
