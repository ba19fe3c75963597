#pragma once

#include <cstddef>
#include <cstdint>

namespace vitrine::backends::cpu {

// Puts kBits of each code of a row's block, from bit `shift` on, into a plane (CodePlane, packed_layout.h), as lane
// `lane` of 16. The bits of four consecutive codes, and of those 4, 8, ... further on that share their bytes, at once.
template <unsigned kBits>
void put_plane(const std::uint8_t* codes, unsigned shift, std::size_t block_k, std::size_t lane, std::uint8_t* out) {
  constexpr unsigned kMask = (1U << kBits) - 1;
  constexpr std::size_t kCodesPerByte = 8 / kBits;
  for (std::size_t word = 0; word < block_k / (4 * kCodesPerByte); ++word) {
    const std::uint8_t* of_word = codes + word * 4 * kCodesPerByte;
    std::uint8_t* bytes = out + 64 * word + 4 * lane;
    for (std::size_t i = 0; i < 4; ++i) {
      unsigned byte = 0;
      for (std::size_t t = 0; t < kCodesPerByte; ++t)
        byte |= (of_word[4 * t + i] >> shift & kMask) << (kBits * t);
      bytes[i] = static_cast<std::uint8_t>(byte);
    }
  }
}

}  // namespace vitrine::backends::cpu
