#pragma once

#include <array>
#include <cstddef>
#include <cstring>

// Four floats side by side for the quantisers' searches, through the vector extension of g++ and clang: any CPU, no
// intrinsics. Named functions only where the operators do not reach.
namespace vitrine::quant {

using Float4 = float __attribute__((vector_size(16)));

inline constexpr std::size_t kLanes = 4;

inline Float4 splat(float value) {
  return Float4{value, value, value, value};
}

inline Float4 load4(const float* values) {
  Float4 result;
  std::memcpy(&result, values, sizeof(result));
  return result;
}

inline Float4 min4(Float4 a, Float4 b) {
  return a < b ? a : b;
}
inline Float4 max4(Float4 a, Float4 b) {
  return a > b ? a : b;
}

inline float sum4(Float4 values) {
  return (values[0] + values[2]) + (values[1] + values[3]);
}

// To an integer, ties to even, for magnitudes below 2^22: adding 1.5 * 2^23 leaves no room for a fraction.
inline Float4 round4(Float4 values) {
  const Float4 shift = splat(0x1.8p23F);
  return (values + shift) - shift;
}

// The entry of a sorted code book nearest to each value, ties to the lower: one comparison per pair of neighbours.
template <std::size_t kEntries>
Float4 nearest_entry(const std::array<std::int8_t, kEntries>& entries, Float4 values) {
  Float4 nearest = splat(static_cast<float>(entries[0]));
  for (std::size_t i = 1; i < kEntries; ++i) {
    const auto low = static_cast<float>(entries[i - 1]);
    const auto high = static_cast<float>(entries[i]);
    nearest += values > splat((low + high) * 0.5F) ? splat(high - low) : Float4{};
  }
  return nearest;
}

}  // namespace vitrine::quant
