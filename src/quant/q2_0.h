#pragma once

#include "quant/scale_search.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 64 elements, value = d * (q - 1), q of 2 bits: -d, 0, d, 2d. Bits 2j, 2j + 1 of byte i of qs are q of element 4i + j.
struct BlockQ2_0 {
  static constexpr tensor::DType kType = tensor::DType::kQ2_0;
  base::Float16 d;
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

inline Unpacked<64, 64> unpack(const BlockQ2_0& block) {
  Unpacked<64, 64> parts;
  parts.scales[0] = base::to_float(block.d);
  for (std::size_t i = 0; i < 64; ++i) {
    parts.codes[i] = static_cast<std::int8_t>((block.qs[i / 4] >> (2 * (i % 4)) & 3) - 1);
  }
  return parts;
}

inline void encode(const float* values, BlockQ2_0& block) {
  using Codes = IntegerCodes<-1, 2>;
  const auto x = bounded<64>(values);
  const float d = best_scale<Codes, 64, round_scale>(x.data());
  std::array<std::int8_t, 64> codes;
  write_codes<Codes, 64>(x.data(), d, codes.data());
  block.d = base::to_float16(d);
  for (std::size_t i = 0; i < 16; ++i) {
    int byte = 0;
    for (std::size_t j = 0; j < 4; ++j)
      byte |= (codes[4 * i + j] + 1) << (2 * j);
    block.qs[i] = static_cast<std::uint8_t>(byte);
  }
}

}  // namespace vitrine::quant
