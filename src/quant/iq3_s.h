#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 8 groups of 32, each of eight points of kIq3SGrid. value = (d * (1 + 2s)) * signed grid element.
// Point j: the index is qs[j] with bit j % 8 of qh[j / 8] above it, the signs are nibble j of signs. s is nibble g of
// scales.
struct BlockIQ3_S {
  static constexpr tensor::DType kType = tensor::DType::kIQ3_S;
  base::Float16 d;
  std::uint8_t qs[64];
  std::uint8_t qh[8];
  std::uint8_t signs[32];
  std::uint8_t scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110);

inline Unpacked<256, 32> unpack(const BlockIQ3_S& block) {
  Unpacked<256, 32> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 8; ++group) {
    parts.scales[group] = d * static_cast<float>(1 + 2 * nibble_at(block.scales, group));
  }
  for (std::size_t j = 0; j < 64; ++j) {
    const int high = block.qh[j / 8] >> (j % 8) & 1;
    const auto index = static_cast<std::size_t>(block.qs[j] | high << 8);
    write_point(kIq3SGrid[index], nibble_at(block.signs, j), parts.codes.data() + j * 4);
  }
  return parts;
}

}  // namespace vitrine::quant
