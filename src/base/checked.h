#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

// Arithmetic on sizes that come from a file or a client: every function answers nullopt instead of wrapping.
namespace vitrine::base {

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The least multiple of `alignment` (a power of two) that is at least `value`.
template <std::unsigned_integral T>
constexpr std::optional<T> checked_align_up(T value, T alignment) {
  const auto padded = checked_add<T>(value, static_cast<T>(alignment - 1));
  if (!padded) return std::nullopt;
  return static_cast<T>(*padded & ~static_cast<T>(alignment - 1));
}

template <std::unsigned_integral T>
constexpr T ceil_div(T a, T b) {
  return static_cast<T>(a / b + (a % b != 0));
}

}  // namespace vitrine::base
