#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 8 groups of 32, each of four points of kIq2XxsGrid. value = (d * (0.5 + s) / 4) * signed grid
// element. Group g owns the 8 bytes from qs[8g]: four indexes, then a little-endian number whose bits 7j .. 7j + 6 are
// the signs of point j (see even_signs) and whose upper 4 bits are s.
struct BlockIQ2_XXS {
  static constexpr tensor::DType kType = tensor::DType::kIQ2_XXS;
  base::Float16 d;
  std::uint8_t qs[64];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

inline Unpacked<256, 32> unpack(const BlockIQ2_XXS& block) {
  Unpacked<256, 32> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::uint8_t* indexes = block.qs + group * 8;
    std::uint32_t signs = 0;
    std::memcpy(&signs, indexes + 4, sizeof(signs));
    parts.scales[group] = d * (0.5F + static_cast<float>(signs >> 28)) * 0.25F;
    for (std::size_t j = 0; j < 4; ++j) {
      write_point(kIq2XxsGrid[indexes[j]], even_signs(signs >> (7 * j)), parts.codes.data() + group * 32 + j * 8);
    }
  }
  return parts;
}

}  // namespace vitrine::quant
