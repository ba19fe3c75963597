#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

// The code books of the IQ formats: grids of points in 8 dimensions (IQ1, IQ2: near the E8 lattice) or 4 (IQ3), chosen
// by the format's designers and part of its definition, and the sign bytes. All magnitudes; IQ1's points have signs.
namespace vitrine::quant {

template <std::size_t kDimensions, std::size_t kPoints>
using Grid = std::array<std::array<std::int8_t, kDimensions>, kPoints>;

extern const Grid<8, 2048> kIq1Grid;    // elements -1, 0, 1
extern const Grid<8, 256> kIq2XxsGrid;  // elements 8, 25, 43 in these three
extern const Grid<8, 512> kIq2XsGrid;
extern const Grid<8, 1024> kIq2SGrid;
extern const Grid<4, 256> kIq3XxsGrid;  // elements 4, 12, 20, 28, 36, 44, 52, 62
extern const Grid<4, 512> kIq3SGrid;    // odd numbers up to 15

// Eight signs from 7 bits: the eighth makes the number of minus signs even.
constexpr std::uint8_t even_signs(std::uint32_t seven_bits) {
  const std::uint32_t low = seven_bits & 0x7FU;
  return static_cast<std::uint8_t>(low | (static_cast<std::uint32_t>(std::popcount(low)) & 1U) << 7U);
}

// Writes a grid point as codes, element i negated where bit i of `signs` is set.
template <std::size_t kDimensions>
void write_point(const std::array<std::int8_t, kDimensions>& point, int signs, std::int8_t* codes) {
  for (std::size_t i = 0; i < kDimensions; ++i) {
    codes[i] = static_cast<std::int8_t>((signs >> i & 1) != 0 ? -point[i] : point[i]);
  }
}

}  // namespace vitrine::quant
