#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 16 groups of 16, each of two points of kIq2XsGrid. value = (d * (0.5 + s) / 4) * signed grid element.
// qs[j]: the low 9 bits are the index of point j, the upper 7 its signs (see even_signs). s is nibble g of scales.
struct BlockIQ2_XS {
  static constexpr tensor::DType kType = tensor::DType::kIQ2_XS;
  base::Float16 d;
  std::uint16_t qs[32];
  std::uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

inline Unpacked<256, 16> unpack(const BlockIQ2_XS& block) {
  Unpacked<256, 16> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 16; ++group) {
    parts.scales[group] = d * (0.5F + static_cast<float>(nibble_at(block.scales, group))) * 0.25F;
  }
  for (std::size_t j = 0; j < 32; ++j) {
    write_point(kIq2XsGrid[block.qs[j] & 511U], even_signs(block.qs[j] >> 9U), parts.codes.data() + j * 8);
  }
  return parts;
}

}  // namespace vitrine::quant
