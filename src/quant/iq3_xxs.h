#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 8 groups of 32, each of eight points of kIq3XxsGrid. value = (d * (0.5 + s) / 2) * signed grid
// element. qs[j] is the index of point j. Group g owns a little-endian number, the 4 bytes from signs[4g]: bits 7p ..
// 7p + 6 are the signs of its points 2p and 2p + 1 together (see even_signs), the upper 4 bits are s.
struct BlockIQ3_XXS {
  static constexpr tensor::DType kType = tensor::DType::kIQ3_XXS;
  base::Float16 d;
  std::uint8_t qs[64];
  std::uint8_t signs[32];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

inline Unpacked<256, 32> unpack(const BlockIQ3_XXS& block) {
  Unpacked<256, 32> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 8; ++group) {
    std::uint32_t packed = 0;
    std::memcpy(&packed, block.signs + group * 4, sizeof(packed));
    parts.scales[group] = d * (0.5F + static_cast<float>(packed >> 28)) * 0.5F;
    for (std::size_t pair = 0; pair < 4; ++pair) {
      const int signs = even_signs(packed >> (7 * pair));
      const std::size_t point = group * 8 + pair * 2;
      write_point(kIq3XxsGrid[block.qs[point]], signs, parts.codes.data() + point * 4);
      write_point(kIq3XxsGrid[block.qs[point + 1]], signs >> 4, parts.codes.data() + point * 4 + 4);
    }
  }
  return parts;
}

}  // namespace vitrine::quant
