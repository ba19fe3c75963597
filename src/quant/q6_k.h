#pragma once

#include "quant/scale_search.h"
#include "quant/two_bits.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 16 groups of 16, value = (d * scales[group]) * (q - 32), q of 6 bits. Byte 64h + l of ql: the low
// nibble has the low 4 bits of element 128h + l, the high nibble those of element 128h + 64 + l (h of 0, 1, l of 0 ..
// 63). The upper 2 bits lie in qh as two_bits.h says.
struct BlockQ6_K {
  static constexpr tensor::DType kType = tensor::DType::kQ6_K;
  std::uint8_t ql[128];
  std::uint8_t qh[64];
  std::int8_t scales[16];
  base::Float16 d;
};
static_assert(sizeof(BlockQ6_K) == 210);

inline Unpacked<256, 16> unpack(const BlockQ6_K& block) {
  Unpacked<256, 16> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 16; ++group)
    parts.scales[group] = d * static_cast<float>(block.scales[group]);
  unpack_two_bits(block.qh, parts.codes.data());
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t l = 0; l < 64; ++l) {
      const std::uint8_t byte = block.ql[half * 64 + l];
      std::int8_t& first = parts.codes[half * 128 + l];
      std::int8_t& second = parts.codes[half * 128 + 64 + l];
      first = static_cast<std::int8_t>((low_nibble(byte) | first << 4) - 32);
      second = static_cast<std::int8_t>((high_nibble(byte) | second << 4) - 32);
    }
  }
  return parts;
}

inline void encode(const float* values, BlockQ6_K& block) {
  using Codes = IntegerCodes<-32, 31>;
  const auto x = bounded<256>(values);
  const auto fitted = fit_scaled_block<Codes, 16, -128, 127>(x.data());
  auto codes = scaled_codes<Codes>(x.data(), fitted);
  block.d = base::to_float16(fitted.d);
  for (std::size_t group = 0; group < 16; ++group)
    block.scales[group] = static_cast<std::int8_t>(fitted.scales[group]);
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t element = i / 64 * 128 + i % 64;
    block.ql[i] = nibbles((codes[element] + 32) & 0x0F, (codes[element + 64] + 32) & 0x0F);
  }
  for (std::int8_t& code : codes)
    code = static_cast<std::int8_t>((code + 32) >> 4);
  pack_two_bits(codes.data(), block.qh);
}

}  // namespace vitrine::quant
