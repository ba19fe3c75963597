#pragma once

#include <bit>
#include <cstdint>

// Scalar half-precision types: storage only, arithmetic is done in float.
namespace vitrine::base {

// IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits = 0;
};

// The upper half of a binary32.
struct BFloat16 {
  std::uint16_t bits = 0;
};

// Exact. A NaN stays a NaN.
constexpr float to_float(Float16 half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (half.bits >> 10U) & 0x1FU;
  const std::uint32_t mantissa = half.bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13U));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

constexpr float to_float(BFloat16 half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half.bits) << 16U);
}

// Round to nearest, ties to even; overflow gives infinity; a NaN gives a quiet NaN.
constexpr Float16 to_float16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return {static_cast<std::uint16_t>(sign | 0x7E00U)};
  if (magnitude >= 0x477FF000U) return {static_cast<std::uint16_t>(sign | 0x7C00U)};
  if (magnitude < 0x38800000U) {
    // Subnormal result: adding 0.5 puts the rounding point at bit 0 of the sum's mantissa.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U))};
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U) - (112U << 23U);
  return {static_cast<std::uint16_t>(sign | (rounded >> 13U))};
}

constexpr BFloat16 to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
}

}  // namespace vitrine::base
