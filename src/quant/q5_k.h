#pragma once

#include "quant/q4_k.h"

namespace vitrine::quant {

// 256 elements in 8 groups of 32, value = (d * scale) * q - dmin * min, q of 5 bits. Scales, mins and the low 4 bits of
// q lie as in Q4_K; bit 4 of element 32g + l is bit g of qh[l].
struct BlockQ5_K {
  static constexpr tensor::DType kType = tensor::DType::kQ5_K;
  base::Float16 d;
  base::Float16 dmin;
  std::uint8_t scales[12];
  std::uint8_t qh[32];
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

inline Unpacked<256, 32, true> unpack(const BlockQ5_K& block) {
  Unpacked<256, 32, true> parts;
  unpack_six_bit_scales(block.scales, base::to_float(block.d), base::to_float(block.dmin), parts);
  for (std::size_t chunk = 0; chunk < 4; ++chunk) {
    for (std::size_t l = 0; l < 32; ++l) {
      const std::uint8_t byte = block.qs[chunk * 32 + l];
      const int high_bits = block.qh[l] >> (2 * chunk);
      parts.codes[chunk * 64 + l] = static_cast<std::int8_t>(low_nibble(byte) | (high_bits & 1) << 4);
      parts.codes[chunk * 64 + 32 + l] = static_cast<std::int8_t>(high_nibble(byte) | (high_bits & 2) << 3);
    }
  }
  return parts;
}

inline void encode(const float* values, BlockQ5_K& block) {
  const auto x = bounded<256>(values);
  const auto fitted = fit_affine_block<31, 63, 32>(x.data());
  const auto codes = affine_codes<31>(x.data(), fitted);
  block.d = base::to_float16(fitted.d);
  block.dmin = base::to_float16(fitted.dmin);
  pack_six_bit_scales(fitted.scales, fitted.mins, block.scales);
  std::fill_n(block.qh, 32, std::uint8_t{0});
  for (std::size_t i = 0; i < 256; ++i) {
    block.qh[i % 32] = static_cast<std::uint8_t>(block.qh[i % 32] | (codes[i] >> 4) << (i / 32));
  }
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t element = i / 32 * 64 + i % 32;
    block.qs[i] = nibbles(codes[element] & 0x0F, codes[element + 32] & 0x0F);
  }
}

}  // namespace vitrine::quant
