#pragma once

#include "quant/scale_search.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// The 16 values of a code in IQ4_NL and IQ4_XS, denser around zero. Part of the formats' definition.
inline constexpr std::array<std::int8_t, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                           1,    13,   25,  38,  53,  69,  89,  113};

// The code book for the scale search.
struct Iq4Codes {
  static constexpr float kLow = -127.0F;
  static constexpr float kHigh = 113.0F;
  static constexpr float kStep = 24.0F;

  static Float4 nearest(Float4 values) { return nearest_entry(kIq4Values, values); }
};

// The code of each of kIq4Values, at that value + 128.
inline constexpr std::array<std::uint8_t, 256> kIq4CodeOf = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t code = 0; code < 16; ++code) {
    table[static_cast<std::size_t>(kIq4Values[code] + 128)] = static_cast<std::uint8_t>(code);
  }
  return table;
}();

// 32 elements, value = d * kIq4Values[q]. Byte i of qs: the low nibble is q of element i, the high nibble that of i
// + 16.
struct BlockIQ4_NL {
  static constexpr tensor::DType kType = tensor::DType::kIQ4_NL;
  base::Float16 d;
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

// 32 codes in 16 bytes, the order that both formats share.
inline void unpack_iq4(const std::uint8_t* qs, std::int8_t* codes) {
  for (std::size_t i = 0; i < 16; ++i) {
    codes[i] = kIq4Values[static_cast<std::size_t>(low_nibble(qs[i]))];
    codes[i + 16] = kIq4Values[static_cast<std::size_t>(high_nibble(qs[i]))];
  }
}

// The nearest codes of 32 values under a scale.
inline void pack_iq4(const float* values, float scale, std::uint8_t* qs) {
  std::array<std::int8_t, 32> nearest;
  write_codes<Iq4Codes, 32>(values, scale, nearest.data());
  for (std::size_t i = 0; i < 16; ++i) {
    const auto low = static_cast<std::size_t>(nearest[i] + 128);
    const auto high = static_cast<std::size_t>(nearest[i + 16] + 128);
    qs[i] = nibbles(kIq4CodeOf[low], kIq4CodeOf[high]);
  }
}

inline Unpacked<32, 32> unpack(const BlockIQ4_NL& block) {
  Unpacked<32, 32> parts;
  parts.scales[0] = base::to_float(block.d);
  unpack_iq4(block.qs, parts.codes.data());
  return parts;
}

inline void encode(const float* values, BlockIQ4_NL& block) {
  const auto x = bounded<32>(values);
  const float d = best_scale<Iq4Codes, 32, round_scale>(x.data());
  block.d = base::to_float16(d);
  pack_iq4(x.data(), d, block.qs);
}

}  // namespace vitrine::quant
