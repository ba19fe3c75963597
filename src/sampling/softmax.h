#pragma once

#include <bit>
#include <cstdint>
#include <span>

// Sums of exponentials over a row of logits. Exponentials are taken in float after the maximum is subtracted, sums in
// double, in an order that depends on nothing but the length: the same row gives the same bits everywhere.
namespace vitrine::sampling {

// exp(x) for x <= 0 with a relative error below 2e-7; exactly 1 at 0, exactly 0 below -87 (where a float would become
// denormal) and at -inf. Limits are applied to the bits, since compilers keep branches round float comparisons and do
// not vectorise them.
inline float exp_nonpositive(float x) {
  constexpr std::int32_t kLargestMagnitude = 0x42AE0000;  // 87.0F
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const std::int32_t magnitude = std::bit_cast<std::int32_t>(x) & 0x7FFFFFFF;
  const float y = -std::bit_cast<float>(magnitude < kLargestMagnitude ? magnitude : kLargestMagnitude);
  const float shifted = y * 1.44269504F + kRound;
  const float n = shifted - kRound;
  // ln 2 in two parts, the first short enough that n times it is exact.
  const float r = (y - n * 0.693359375F) + n * 2.12194440e-4F;
  // Taylor's series: |r| <= ln(2)/2, so the first term left out is below 6e-9.
  float sum = 1.0F / 5040;
  sum = sum * r + 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1.0F;
  sum = sum * r + 1.0F;
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  const std::uint32_t scaled = std::bit_cast<std::uint32_t>(sum) + exponent;
  const auto in_range = static_cast<std::uint32_t>((magnitude - (kLargestMagnitude + 1)) >> 31);  // all ones, or 0
  return std::bit_cast<float>(scaled & in_range);
}

// Sum over exp(logit - peak).
double sum_exp(std::span<const float> logits, float peak);

// What the entropy-based samplers need of a distribution.
struct Distribution {
  double log_total;  // ln of sum_exp(): -ln p = log_total - (logit - peak)
  double entropy;    // in nats
};
Distribution describe(std::span<const float> logits, float peak);

// The position at which the running sum of exp(logit - peak) first exceeds `uniform` times the whole sum: a draw from
// the softmax for `uniform` in [0, 1). Never a position of probability zero.
std::size_t draw(std::span<const float> logits, float peak, double uniform);

}  // namespace vitrine::sampling
