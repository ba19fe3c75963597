#pragma once

#include "quant/affine_search.h"
#include "quant/two_bits.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 16 groups of 16, value = (d * scale) * q - dmin * min, q of 2 bits that lie as two_bits.h says.
// Byte g of scales: the low nibble is the scale of group g, the high nibble its min.
struct BlockQ2_K {
  static constexpr tensor::DType kType = tensor::DType::kQ2_K;
  std::uint8_t scales[16];
  std::uint8_t qs[64];
  base::Float16 d;
  base::Float16 dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

inline Unpacked<256, 16, true> unpack(const BlockQ2_K& block) {
  Unpacked<256, 16, true> parts;
  const float d = base::to_float(block.d);
  const float dmin = base::to_float(block.dmin);
  for (std::size_t group = 0; group < 16; ++group) {
    parts.scales[group] = d * static_cast<float>(low_nibble(block.scales[group]));
    parts.offsets[group] = -(dmin * static_cast<float>(high_nibble(block.scales[group])));
  }
  unpack_two_bits(block.qs, parts.codes.data());
  return parts;
}

inline void encode(const float* values, BlockQ2_K& block) {
  const auto x = bounded<256>(values);
  const auto fitted = fit_affine_block<3, 15, 16>(x.data());
  block.d = base::to_float16(fitted.d);
  block.dmin = base::to_float16(fitted.dmin);
  for (std::size_t group = 0; group < 16; ++group)
    block.scales[group] = nibbles(fitted.scales[group], fitted.mins[group]);
  pack_two_bits(affine_codes<3>(x.data(), fitted).data(), block.qs);
}

}  // namespace vitrine::quant
