#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

// What all block formats share. A format is a POD block whose bytes are those of the file, an unpack() that takes a
// block apart and, where we can quantise to it, an encode(). Blocks lie in files at any address, so they are copied,
// never cast. Little-endian hosts only, as GGUF is little-endian.
namespace vitrine::quant {

// A block taken apart: value[i] = scales[i / kGroup] * codes[i], plus offsets[i / kGroup] where the format has one.
// Computed in float with one rounding per operation, this is the decoded value of every format, bit for bit.
template <std::size_t kNumElements, std::size_t kGroupSize, bool kHasOffset = false>
struct Unpacked {
  static constexpr std::size_t kElements = kNumElements;
  static constexpr std::size_t kGroup = kGroupSize;
  static constexpr std::size_t kNumGroups = kNumElements / kGroupSize;
  static constexpr bool kAffine = kHasOffset;

  std::array<std::int8_t, kElements> codes;
  std::array<float, kNumGroups> scales;
  std::array<float, kAffine ? kNumGroups : 0> offsets;
};

template <class Block>
using UnpackedOf = decltype(unpack(std::declval<const Block&>()));

template <class Block>
Block load_block(const std::byte* blocks, std::size_t block_idx) {
  Block block;
  std::memcpy(&block, blocks + block_idx * sizeof(Block), sizeof(Block));
  return block;
}

template <class Block>
void store_block(const Block& block, std::byte* blocks, std::size_t block_idx) {
  std::memcpy(blocks + block_idx * sizeof(Block), &block, sizeof(Block));
}

// Two 4-bit codes in a byte.
constexpr int low_nibble(std::uint8_t byte) {
  return byte & 0x0F;
}
constexpr int high_nibble(std::uint8_t byte) {
  return byte >> 4;
}
constexpr std::uint8_t nibbles(int low, int high) {
  return static_cast<std::uint8_t>(low | high << 4);
}

// Nibble `idx` of an array that holds two per byte, the lower half first.
constexpr int nibble_at(const std::uint8_t* bytes, std::size_t idx) {
  return bytes[idx / 2] >> (4 * (idx % 2)) & 0x0F;
}

// `value` cut to an integer in [lowest, highest]; NaN gives `lowest`.
constexpr int to_code(float value, int lowest, int highest) {
  if (!(value > static_cast<float>(lowest))) return lowest;
  if (!(value < static_cast<float>(highest))) return highest;
  return static_cast<int>(value);
}

// Round half away from zero, then as to_code().
constexpr int round_to_code(float value, int lowest, int highest) {
  if (!(value > static_cast<float>(lowest))) return lowest;
  if (!(value < static_cast<float>(highest))) return highest;
  const int whole = static_cast<int>(value);
  const float rest = value - static_cast<float>(whole);
  return whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0);
}

// 1 / scale, and 0 for a zero scale.
constexpr float inverse_or_zero(float scale) {
  return scale == 0.0F ? 0.0F : 1.0F / scale;
}

// The element of the largest magnitude with its sign, the first of equals.
template <std::size_t kCount>
float signed_extreme(const float* values) {
  float extreme = 0.0F;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (std::abs(values[i]) > std::abs(extreme)) extreme = values[i];
  }
  return extreme;
}

// Added to the scale of activations: 0, or NaN where a value is not finite. So a broken activation breaks the whole
// block and with it the result, where codes alone would turn it into an ordinary number.
template <std::size_t kCount>
float nan_unless_finite(const float* values) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t num_broken = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    num_broken += (std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent ? 1U : 0U;
  }
  return num_broken == 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace vitrine::quant
