#pragma once

#include <cstddef>
#include <cstdint>

// The order of 256 two-bit codes that TQ2_0, Q2_K, Q3_K and (for its upper bits) Q6_K share: bits 2j, 2j + 1 of byte
// 32h + l belong to element 128h + 32j + l, for h of 0, 1, j of 0 .. 3, l of 0 .. 31.
namespace vitrine::quant {

inline void unpack_two_bits(const std::uint8_t* bytes, std::int8_t* codes) {
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t l = 0; l < 32; ++l) {
        codes[half * 128 + j * 32 + l] = static_cast<std::int8_t>(bytes[half * 32 + l] >> (2 * j) & 3);
      }
    }
  }
}

// `codes` of 0 .. 3.
inline void pack_two_bits(const std::int8_t* codes, std::uint8_t* bytes) {
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t l = 0; l < 32; ++l) {
      int byte = 0;
      for (std::size_t j = 0; j < 4; ++j)
        byte |= codes[half * 128 + j * 32 + l] << (2 * j);
      bytes[half * 32 + l] = static_cast<std::uint8_t>(byte);
    }
  }
}

}  // namespace vitrine::quant
