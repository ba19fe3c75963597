#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 256 elements, value = d * (t - 1) with t of 0, 1, 2, as base-3 digits: five per byte of qs, four per byte of qh. A
// byte is a binary fraction: times 3^n modulo 256, then times 3, the carry out of 8 bits is digit n. Digit n of qs[m]
// is element 32n + m for m < 32 and element 160 + 16n + (m - 32) above; digit n of qh[m] is element 240 + 4n + m.
struct BlockTQ1_0 {
  static constexpr tensor::DType kType = tensor::DType::kTQ1_0;
  std::uint8_t qs[48];
  std::uint8_t qh[4];
  base::Float16 d;
};
static_assert(sizeof(BlockTQ1_0) == 54);

inline constexpr std::array<int, 5> kPowersOfThree = {1, 3, 9, 27, 81};

// Digits 0 .. num_digits - 1 of kWidth bytes, each digit as one run of kWidth codes.
template <std::size_t kWidth>
void unpack_trits(const std::uint8_t* bytes, std::size_t num_digits, std::int8_t* codes) {
  for (std::size_t digit = 0; digit < num_digits; ++digit) {
    for (std::size_t i = 0; i < kWidth; ++i) {
      const auto fraction = static_cast<std::uint8_t>(bytes[i] * kPowersOfThree[digit]);
      codes[digit * kWidth + i] = static_cast<std::int8_t>((fraction * 3 >> 8) - 1);
    }
  }
}

// The inverse. A byte always has five digits; missing ones are 0. Rounded up, so that the carries come out right.
template <std::size_t kWidth>
void pack_trits(const std::int8_t* codes, std::size_t num_digits, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < kWidth; ++i) {
    int number = 0;
    for (std::size_t digit = 0; digit < num_digits; ++digit) {
      number += (codes[digit * kWidth + i] + 1) * kPowersOfThree[4 - digit];
    }
    bytes[i] = static_cast<std::uint8_t>((number * 256 + 242) / 243);
  }
}

inline Unpacked<256, 256> unpack(const BlockTQ1_0& block) {
  Unpacked<256, 256> parts;
  parts.scales[0] = base::to_float(block.d);
  unpack_trits<32>(block.qs, 5, parts.codes.data());
  unpack_trits<16>(block.qs + 32, 5, parts.codes.data() + 160);
  unpack_trits<4>(block.qh, 4, parts.codes.data() + 240);
  return parts;
}

// The codes of the two ternary formats: the largest magnitude becomes 1.
inline base::Float16 encode_ternary(const float* values, std::array<std::int8_t, 256>& codes) {
  const float d = std::abs(signed_extreme<256>(values));
  const float inverse = inverse_or_zero(d);
  for (std::size_t i = 0; i < 256; ++i)
    codes[i] = static_cast<std::int8_t>(round_to_code(values[i] * inverse, -1, 1));
  return base::to_float16(d);
}

inline void encode(const float* values, BlockTQ1_0& block) {
  std::array<std::int8_t, 256> codes;
  block.d = encode_ternary(values, codes);
  pack_trits<32>(codes.data(), 5, block.qs);
  pack_trits<16>(codes.data() + 160, 5, block.qs + 32);
  pack_trits<4>(codes.data() + 240, 4, block.qh);
}

}  // namespace vitrine::quant
