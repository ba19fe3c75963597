#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "quant/float4.h"

// The 4-bit floats (1 sign, 2 exponent, 1 mantissa bit) and 8-bit scales of MXFP4 and NVFP4.
// Source: OCP Microscaling Formats (MX) 1.0; NVFP4's scale is the E4M3 of OCP 8-bit floats without its sign.
namespace vitrine::quant {

// Twice the value of each code, so that all are integers; the scales below are halved in return. Code 8, -0, decodes to
// +0.
inline constexpr std::array<std::int8_t, 16> kFp4Doubled = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The code nearest to `value` (in units of kFp4Doubled); ties go to the smaller magnitude. NaN gives 0.
constexpr int nearest_fp4(float value) {
  const float magnitude = value < 0.0F ? -value : value;
  int code = 0;
  for (std::size_t i = 1; i < 8; ++i) {
    code += 2.0F * magnitude > static_cast<float>(kFp4Doubled[i - 1] + kFp4Doubled[i]) ? 1 : 0;
  }
  return value < 0.0F && code != 0 ? code + 8 : code;
}

// The magnitudes of fp4 as a code book for the scale search.
struct Fp4Magnitudes {
  static constexpr std::array<std::int8_t, 8> kEntries = {0, 1, 2, 3, 4, 6, 8, 12};

  static Float4 nearest(Float4 values) { return nearest_entry(kEntries, values); }
};

// Half of the E8M0 scale 2^(exponent - 127). 0 and 1 give subnormals; 255, NaN in the standard, gives 2^127.
constexpr float half_e8m0(std::uint8_t exponent) {
  const std::uint32_t bits = exponent < 2 ? 0x00200000U << exponent : (exponent - 1U) << 23U;
  return std::bit_cast<float>(bits);
}

// Half of the unsigned E4M3 scale. The sign bit is ignored; 0x7F, NaN in the standard, reads as zero.
constexpr float half_ue4m3(std::uint8_t scale) {
  const std::uint32_t exponent = (scale >> 3U) & 0x0FU;
  const std::uint32_t mantissa = scale & 0x07U;
  if (scale == 0x7FU) return 0.0F;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10F;
  return std::bit_cast<float>(((exponent + 119U) << 23U) | (mantissa << 20U));
}

}  // namespace vitrine::quant
