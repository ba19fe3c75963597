#pragma once

#include <bit>
#include <cstdint>

namespace vitrine::base {

// Integers in the order of the floats, with NaNs outside both infinities. Its own inverse on the bits.
inline std::int32_t order_key(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}
inline float from_order_key(std::int32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) & 0x7FFFFFFF));
}

inline constexpr std::int32_t kMinusInfinityKey = static_cast<std::int32_t>(0xFF800000U ^ 0x7FFFFFFFU);
inline constexpr std::int32_t kPlusInfinityKey = 0x7F800000;

// Whether values from key `smallest` to key `largest` hold a NaN or +inf.
inline bool has_nan_or_infinity(std::int32_t smallest, std::int32_t largest) {
  return smallest < kMinusInfinityKey || largest >= kPlusInfinityKey;
}

}  // namespace vitrine::base
