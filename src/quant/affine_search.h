#pragma once

#include <utility>

#include "quant/scale_search.h"

// The search of scale_search.h for blocks of 256 with a scale and a minimum per group (Q2_K, Q4_K, Q5_K):
// value = d * scales[group] * q - dmin * mins[group], q of 0 .. kLevels, scales and mins of 0 .. kMaxScale.
namespace vitrine::quant {

struct AffineScale {
  float scale;
  float min;  // what is subtracted
};

// The sums over the nearest codes q of kCount values x that the error and the least-squares refits need.
struct AffineFit {
  float error = std::numeric_limits<float>::infinity();
  float q = 0.0F;
  float qq = 0.0F;
  float xq = 0.0F;
};

template <int kLevels, std::size_t kCount>
AffineFit fit_affine(const float* x, AffineScale guess) {
  const Float4 inverse = splat(inverse_or_zero(guess.scale));
  const Float4 scales = splat(guess.scale);
  const Float4 mins = splat(guess.min);
  Float4 error{};
  Float4 q{};
  Float4 qq{};
  Float4 xq{};
  for (std::size_t i = 0; i < kCount; i += kLanes) {
    const Float4 values = load4(x + i);
    const Float4 codes = IntegerCodes<0, kLevels>::nearest((values + mins) * inverse);
    const Float4 rest = values - (scales * codes - mins);
    error += rest * rest;
    q += codes;
    qq += codes * codes;
    xq += values * codes;
  }
  return {sum4(error), sum4(q), sum4(qq), sum4(xq)};
}

// The least-squares scale and minimum for the codes of `fit`, with the minimum not below zero.
template <std::size_t kCount>
AffineScale refit_affine(const AffineFit& fit, float sum_x) {
  constexpr auto kNum = static_cast<float>(kCount);
  const float determinant = kNum * fit.qq - fit.q * fit.q;
  if (determinant > 0.0F) {
    const float scale = (kNum * fit.xq - sum_x * fit.q) / determinant;
    const float min = (scale * fit.q - sum_x) / kNum;
    if (min >= 0.0F) return {scale, min};
  }
  return {fit.qq > 0.0F ? fit.xq / fit.qq : 0.0F, 0.0F};
}

// The scale and minimum for kCount values. The starts spread the range of the values over a little less to a little
// more than all levels.
template <int kLevels, std::size_t kCount>
AffineScale best_affine(const float* x) {
  constexpr int kMaxSteps = 3;
  constexpr float kTiny = 1e-20F;
  const auto [least, greatest] = std::minmax_element(x, x + kCount);
  const float low = std::min(*least, 0.0F);
  const float range = *greatest - low;
  AffineScale best{0.0F, -low};
  if (range < kTiny) return best;
  float sum_x = 0.0F;
  for (std::size_t i = 0; i < kCount; ++i)
    sum_x += x[i];
  float best_error = std::numeric_limits<float>::infinity();
  for (int shift = -2; shift <= 5; ++shift) {
    AffineScale guess{range / (static_cast<float>(kLevels) + 0.4F * static_cast<float>(shift)), -low};
    float error = std::numeric_limits<float>::infinity();
    for (int step = 0; step < kMaxSteps; ++step) {
      const AffineFit fit = fit_affine<kLevels, kCount>(x, guess);
      if (!(fit.error < error)) break;
      error = fit.error;
      if (error < best_error) {
        best_error = error;
        best = guess;
      }
      guess = refit_affine<kCount>(fit, sum_x);
    }
  }
  return best;
}

template <std::size_t kGroup>
struct AffineBlock {
  static constexpr std::size_t kNumGroups = 256 / kGroup;
  float d = 0.0F;  // float16 both
  float dmin = 0.0F;
  std::array<int, kNumGroups> scales{};
  std::array<int, kNumGroups> mins{};
  double error = std::numeric_limits<double>::infinity();
  AffineScale refit{};  // the d and dmin of least error for these scales, mins and codes
};

// The normal equations of d and dmin over a block.
struct AffineNormal {
  double ss = 0.0;  // sum (scale * q)^2
  double sm = 0.0;  // sum scale * q * min
  double mm = 0.0;  // sum min^2
  double sx = 0.0;  // sum scale * q * x
  double mx = 0.0;  // sum min * x

  void add(double scale, double min, const AffineFit& fit, double sum_x, double count) {
    ss += scale * scale * static_cast<double>(fit.qq);
    sm += scale * min * static_cast<double>(fit.q);
    mm += min * min * count;
    sx += scale * static_cast<double>(fit.xq);
    mx += min * sum_x;
  }

  AffineScale solve(AffineScale fallback) const {
    const double determinant = ss * mm - sm * sm;
    if (determinant > 1e-9 * ss * mm) {
      const double min = (sx * sm - mx * ss) / determinant;
      return {static_cast<float>((sx + min * sm) / ss), static_cast<float>(min)};
    }
    if (ss > 0.0 && mm == 0.0) return {static_cast<float>(sx / ss), fallback.min};
    if (mm > 0.0 && ss == 0.0) return {fallback.scale, static_cast<float>(-mx / mm)};
    return fallback;
  }
};

// The best integers for one group: those nearest to the ideal ones or next to them.
template <int kLevels, int kMaxScale, std::size_t kGroup>
AffineFit choose_group(const float* x, AffineScale ideal, AffineScale unit, std::pair<int, int>& chosen) {
  const int scale = round_to_code(ideal.scale * inverse_or_zero(unit.scale), 0, kMaxScale);
  const int min = round_to_code(ideal.min * inverse_or_zero(unit.min), 0, kMaxScale);
  AffineFit best;
  for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, kMaxScale); ++s) {
    for (int m = std::max(min - 1, 0); m <= std::min(min + 1, kMaxScale); ++m) {
      const AffineScale guess{unit.scale * static_cast<float>(s), unit.min * static_cast<float>(m)};
      const AffineFit fit = fit_affine<kLevels, kGroup>(x, guess);
      if (fit.error < best.error) {
        best = fit;
        chosen = {s, m};
      }
    }
  }
  return best;
}

template <int kLevels, int kMaxScale, std::size_t kGroup>
AffineBlock<kGroup> choose_affine(const float* x, const std::array<AffineScale, 256 / kGroup>& ideal,
                                  AffineScale unit) {
  AffineBlock<kGroup> block;
  block.d = unit.scale;
  block.dmin = unit.min;
  block.error = 0.0;
  AffineNormal normal;
  for (std::size_t group = 0; group < block.kNumGroups; ++group) {
    const float* values = x + group * kGroup;
    std::pair<int, int> chosen{0, 0};
    const AffineFit fit = choose_group<kLevels, kMaxScale, kGroup>(values, ideal[group], unit, chosen);
    block.scales[group] = chosen.first;
    block.mins[group] = chosen.second;
    block.error += static_cast<double>(fit.error);
    double sum_x = 0.0;
    for (std::size_t i = 0; i < kGroup; ++i)
      sum_x += static_cast<double>(values[i]);
    normal.add(chosen.first, chosen.second, fit, sum_x, static_cast<double>(kGroup));
  }
  block.refit = normal.solve(unit);
  return block;
}

template <int kLevels, int kMaxScale, std::size_t kGroup>
AffineBlock<kGroup> fit_affine_block(const float* x) {
  constexpr int kNumStarts = 2;
  constexpr int kNumRefits = 3;
  std::array<AffineScale, 256 / kGroup> ideal;
  AffineScale largest{0.0F, 0.0F};
  for (std::size_t group = 0; group < ideal.size(); ++group) {
    ideal[group] = best_affine<kLevels, kGroup>(x + group * kGroup);
    largest = {std::max(largest.scale, ideal[group].scale), std::max(largest.min, ideal[group].min)};
  }
  AffineBlock<kGroup> best;
  for (int start = 0; start < kNumStarts; ++start) {
    const auto divisor = static_cast<float>(kMaxScale - start);
    AffineScale unit{round_scale(largest.scale / divisor), round_scale(largest.min / divisor)};
    for (int refit = 0; refit < kNumRefits; ++refit) {
      const auto block = choose_affine<kLevels, kMaxScale, kGroup>(x, ideal, unit);
      if (block.error < best.error) best = block;
      unit = {round_scale(block.refit.scale), round_scale(block.refit.min)};
      if (unit.scale == block.d && unit.min == block.dmin) break;
    }
  }
  return best;
}

// The codes of a fitted block.
template <int kLevels, std::size_t kGroup>
std::array<std::int8_t, 256> affine_codes(const float* x, const AffineBlock<kGroup>& block) {
  std::array<std::int8_t, 256> codes;
  std::array<float, 256> shifted;
  for (std::size_t group = 0; group < block.kNumGroups; ++group) {
    const float scale = block.d * static_cast<float>(block.scales[group]);
    const float min = block.dmin * static_cast<float>(block.mins[group]);
    const std::size_t first = group * kGroup;
    for (std::size_t i = first; i < first + kGroup; ++i)
      shifted[i] = x[i] + min;
    write_codes<IntegerCodes<0, kLevels>, kGroup>(shifted.data() + first, scale, codes.data() + first);
  }
  return codes;
}

}  // namespace vitrine::quant
