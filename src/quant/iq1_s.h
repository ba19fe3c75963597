#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 8 groups of 32, each of four points of kIq1Grid. value = (d * (2s + 1)) * (grid +- 1/8). Of group g,
// point j: the index is qs[4g + j] with bits 3j .. 3j + 2 of qh[g] above it; bits 12 .. 14 of qh[g] are s, bit 15 set
// means
// - 1/8. Codes are 8 * grid +- 1 and scales an eighth, which is exact.
struct BlockIQ1_S {
  static constexpr tensor::DType kType = tensor::DType::kIQ1_S;
  base::Float16 d;
  std::uint8_t qs[32];
  std::uint16_t qh[8];
};
static_assert(sizeof(BlockIQ1_S) == 50);

// The codes of a point of kIq1Grid moved by an eighth.
inline void write_shifted_point(std::size_t index, bool down, std::int8_t* codes) {
  const auto& point = kIq1Grid[index];
  for (std::size_t i = 0; i < 8; ++i)
    codes[i] = static_cast<std::int8_t>(8 * point[i] + (down ? -1 : 1));
}

inline Unpacked<256, 32> unpack(const BlockIQ1_S& block) {
  Unpacked<256, 32> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::uint32_t high = block.qh[group];
    parts.scales[group] = d * static_cast<float>(2 * (high >> 12 & 7) + 1) * 0.125F;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t index = block.qs[group * 4 + j] | (high >> (3 * j) & 7) << 8;
      write_shifted_point(index, (high & 0x8000U) != 0, parts.codes.data() + group * 32 + j * 8);
    }
  }
  return parts;
}

}  // namespace vitrine::quant
