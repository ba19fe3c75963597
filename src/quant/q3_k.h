#pragma once

#include "quant/scale_search.h"
#include "quant/two_bits.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements in 16 groups of 16, value = (d * (scale - 32)) * (q - 4), q of 3 bits. The low 2 bits lie in qs as
// two_bits.h says; bit 2 of element 32b + l is bit b of hmask[l]. Scales have 6 bits: of group g the low 4 are nibble
// g / 8 of byte g % 8, the upper 2 are bits 2(g / 4) and up of byte 8 + g % 4.
struct BlockQ3_K {
  static constexpr tensor::DType kType = tensor::DType::kQ3_K;
  std::uint8_t hmask[32];
  std::uint8_t qs[64];
  std::uint8_t scales[12];
  base::Float16 d;
};
static_assert(sizeof(BlockQ3_K) == 110);

// The scale of a group, -32 .. 31.
inline int q3_k_scale(const BlockQ3_K& block, std::size_t group) {
  const int low = block.scales[group % 8] >> (4 * (group / 8)) & 0x0F;
  const int high = block.scales[8 + group % 4] >> (2 * (group / 4)) & 0x03;
  return (low | high << 4) - 32;
}

inline Unpacked<256, 16> unpack(const BlockQ3_K& block) {
  Unpacked<256, 16> parts;
  const float d = base::to_float(block.d);
  for (std::size_t group = 0; group < 16; ++group)
    parts.scales[group] = d * static_cast<float>(q3_k_scale(block, group));
  unpack_two_bits(block.qs, parts.codes.data());
  for (std::size_t bit = 0; bit < 8; ++bit) {
    for (std::size_t l = 0; l < 32; ++l) {
      std::int8_t& code = parts.codes[bit * 32 + l];
      code = static_cast<std::int8_t>(code + 4 * (block.hmask[l] >> bit & 1) - 4);
    }
  }
  return parts;
}

inline void pack_q3_k_scales(const std::array<int, 16>& scales, std::uint8_t* bytes) {
  std::fill_n(bytes, 12, std::uint8_t{0});
  for (std::size_t group = 0; group < 16; ++group) {
    const int scale = scales[group] + 32;
    std::uint8_t& low = bytes[group % 8];
    std::uint8_t& high = bytes[8 + group % 4];
    low = static_cast<std::uint8_t>(low | (scale & 0x0F) << (4 * (group / 8)));
    high = static_cast<std::uint8_t>(high | (scale >> 4) << (2 * (group / 4)));
  }
}

inline void encode(const float* values, BlockQ3_K& block) {
  using Codes = IntegerCodes<-4, 3>;
  const auto x = bounded<256>(values);
  const auto fitted = fit_scaled_block<Codes, 16, -32, 31>(x.data());
  auto codes = scaled_codes<Codes>(x.data(), fitted);
  block.d = base::to_float16(fitted.d);
  pack_q3_k_scales(fitted.scales, block.scales);
  std::fill_n(block.hmask, 32, std::uint8_t{0});
  for (std::size_t i = 0; i < 256; ++i) {
    const int code = codes[i] + 4;
    block.hmask[i % 32] = static_cast<std::uint8_t>(block.hmask[i % 32] | (code >> 2) << (i / 32));
    codes[i] = static_cast<std::int8_t>(code & 3);
  }
  pack_two_bits(codes.data(), block.qs);
}

}  // namespace vitrine::quant
