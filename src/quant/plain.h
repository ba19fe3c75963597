#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/float16.h"
#include "quant/block.h"

// Formats without blocks: one number per element. Half-precision numbers decode exactly and encode to the nearest, ties
// to even; integers decode to the nearest float and have no encoder.
namespace vitrine::quant {

inline float to_value(float number) {
  return number;
}
inline float to_value(double number) {
  return static_cast<float>(number);
}
inline float to_value(base::BFloat16 number) {
  return base::to_float(number);
}
template <std::signed_integral Integer>
float to_value(Integer number) {
  return static_cast<float>(number);
}

// base::to_float() without branches, so that the decode loop vectorises: the multiplication by 2^112 moves the
// exponent's bias and makes subnormals normal, exactly.
inline float to_value(base::Float16 number) {
  const std::uint32_t bits = number.bits;
  const float scaled = std::bit_cast<float>((bits & 0x7FFFU) << 13U) * 0x1p112F;
  const std::uint32_t all_ones = (bits & 0x7C00U) == 0x7C00U ? 0x7F800000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | all_ones | (bits & 0x8000U) << 16U);
}

inline void from_value(float value, float& number) {
  number = value;
}
inline void from_value(float value, double& number) {
  number = static_cast<double>(value);
}
inline void from_value(float value, base::Float16& number) {
  number = base::to_float16(value);
}
inline void from_value(float value, base::BFloat16& number) {
  number = base::to_bfloat16(value);
}

template <class Number>
void decode_plain(const std::byte* numbers, float* values, std::size_t num_elements) {
  for (std::size_t i = 0; i < num_elements; ++i)
    values[i] = to_value(load_block<Number>(numbers, i));
}

template <class Number>
void encode_plain(const float* values, std::byte* numbers, std::size_t num_elements) {
  for (std::size_t i = 0; i < num_elements; ++i) {
    Number number;
    from_value(values[i], number);
    store_block(number, numbers, i);
  }
}

// Against float32 activations, summed in double.
template <class Number>
float dot_plain(const std::byte* weights, const std::byte* activations, std::size_t num_elements) {
  double total = 0.0;
  for (std::size_t i = 0; i < num_elements; ++i) {
    const auto weight = static_cast<double>(to_value(load_block<Number>(weights, i)));
    total += weight * static_cast<double>(load_block<float>(activations, i));
  }
  return static_cast<float>(total);
}

}  // namespace vitrine::quant
