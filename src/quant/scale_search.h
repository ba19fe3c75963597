#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/float16.h"
#include "quant/block.h"
#include "quant/float4.h"

// Quantisers that look for the scale of least squared error: Lloyd's alternation (S. P. Lloyd, "Least squares
// quantization in PCM", 1982) between the nearest codes for a scale and the least-squares scale for those codes, from
// several starts. A code book is a type with kLow, kHigh, kStep (a typical distance of neighbours) and nearest(float)
// -> a code as float.
namespace vitrine::quant {

// The integers from kLowest to kHighest.
template <int kLowest, int kHighest>
struct IntegerCodes {
  static constexpr float kLow = kLowest;
  static constexpr float kHigh = kHighest;
  static constexpr float kStep = 1.0F;

  static Float4 nearest(Float4 values) { return round4(min4(max4(values, splat(kLow)), splat(kHigh))); }
};

// Values of a block with NaN read as zero and magnitudes bounded, so that sums of squares stay finite.
template <std::size_t kCount>
std::array<float, kCount> bounded(const float* values) {
  constexpr float kBound = 1e12F;
  std::array<float, kCount> result;
  for (std::size_t i = 0; i < kCount; ++i) {
    result[i] = std::isnan(values[i]) ? 0.0F : std::clamp(values[i], -kBound, kBound);
  }
  return result;
}

// How a scale will be stored: as it is, to be rounded later, ...
inline float keep_scale(float scale) {
  return scale;
}

// ... or as the nearest finite float16, which is not zero for a scale that is not.
inline float round_scale(float scale) {
  constexpr float kLargest = 65504.0F;
  constexpr float kSmallest = 0x1p-24F;
  const float rounded = base::to_float(base::to_float16(std::clamp(scale, -kLargest, kLargest)));
  return rounded == 0.0F && scale != 0.0F ? std::copysign(kSmallest, scale) : rounded;
}

// What a scale costs and what the least-squares refit needs, for the nearest codes q of kCount values x.
struct ScaleFit {
  float error;  // sum (x - scale * q)^2
  float xq;     // sum x * q
  float qq;     // sum q * q
};

template <class Codes, std::size_t kCount>
ScaleFit fit_scale(const float* x, float scale) {
  static_assert(kCount % kLanes == 0);
  const Float4 inverse = splat(inverse_or_zero(scale));
  const Float4 scales = splat(scale);
  Float4 error{};
  Float4 xq{};
  Float4 qq{};
  for (std::size_t i = 0; i < kCount; i += kLanes) {
    const Float4 values = load4(x + i);
    const Float4 codes = Codes::nearest(values * inverse);
    const Float4 rest = values - scales * codes;
    error += rest * rest;
    xq += values * codes;
    qq += codes * codes;
  }
  return {sum4(error), sum4(xq), sum4(qq)};
}

struct BestScale {
  float scale;
  float error;
};

// Improves `best` by Lloyd steps from `scale`.
template <class Codes, std::size_t kCount, auto kStored>
void descend(const float* x, float scale, BestScale& best) {
  constexpr int kMaxSteps = 3;
  float error = std::numeric_limits<float>::infinity();
  for (int step = 0; step < kMaxSteps; ++step) {
    scale = kStored(scale);
    const ScaleFit fit = fit_scale<Codes, kCount>(x, scale);
    if (!(fit.error < error)) return;
    error = fit.error;
    if (error < best.error) best = {scale, error};
    if (fit.qq == 0.0F) return;
    scale = fit.xq / fit.qq;
  }
}

// The scale for kCount values. The starts place the extreme value around either end of the code book, from a little
// inside it, where a coarser grid can fit better, to a fraction beyond it: clipping one value can pay for a finer
// scale.
template <class Codes, std::size_t kCount, auto kStored = keep_scale>
float best_scale(const float* x) {
  constexpr float kTiny = 1e-20F;
  const float extreme = signed_extreme<kCount>(x);
  if (std::abs(extreme) < kTiny) return 0.0F;
  BestScale best{0.0F, fit_scale<Codes, kCount>(x, 0.0F).error};
  for (const float end : {Codes::kLow, Codes::kHigh}) {
    for (int shift = -2; shift <= 4; ++shift) {
      const float target = end + std::copysign(0.4F * Codes::kStep, end) * static_cast<float>(shift);
      descend<Codes, kCount, kStored>(x, extreme / target, best);
    }
  }
  return best.scale;
}

// A block of 256 values as d * scales[group] * codes[i], with integer scales per group.
template <std::size_t kGroup>
struct ScaledBlock {
  static constexpr std::size_t kNumGroups = 256 / kGroup;
  float d = 0.0F;  // a float16
  std::array<int, kNumGroups> scales{};
  double error = std::numeric_limits<double>::infinity();
  float refit = 0.0F;  // the d of least error for these scales and codes
};

// The best scales for a given d: those nearest to the ideal ones or next to them.
template <class Codes, std::size_t kGroup, int kLowScale, int kHighScale>
ScaledBlock<kGroup> choose_scales(const float* x, const std::array<float, 256 / kGroup>& ideal, float d) {
  ScaledBlock<kGroup> block{.d = d, .scales = {}, .error = 0.0, .refit = 0.0F};
  double numerator = 0.0;
  double denominator = 0.0;
  for (std::size_t group = 0; group < block.kNumGroups; ++group) {
    const int middle = round_to_code(ideal[group] * inverse_or_zero(d), kLowScale, kHighScale);
    ScaleFit best{std::numeric_limits<float>::infinity(), 0.0F, 0.0F};
    for (int scale = std::max(middle - 1, kLowScale); scale <= std::min(middle + 1, kHighScale); ++scale) {
      const ScaleFit fit = fit_scale<Codes, kGroup>(x + group * kGroup, d * static_cast<float>(scale));
      if (fit.error < best.error) {
        best = fit;
        block.scales[group] = scale;
      }
    }
    const double scale = block.scales[group];
    block.error += static_cast<double>(best.error);
    numerator += scale * static_cast<double>(best.xq);
    denominator += scale * scale * static_cast<double>(best.qq);
  }
  block.refit = denominator > 0.0 ? static_cast<float>(numerator / denominator) : d;
  return block;
}

template <class Codes, std::size_t kGroup, int kLowScale, int kHighScale>
ScaledBlock<kGroup> fit_scaled_block(const float* x) {
  constexpr int kNumStarts = 4;
  constexpr int kNumRefits = 3;
  std::array<float, 256 / kGroup> ideal;
  for (std::size_t group = 0; group < ideal.size(); ++group)
    ideal[group] = best_scale<Codes, kGroup>(x + group * kGroup);
  const float extreme = signed_extreme<256 / kGroup>(ideal.data());
  ScaledBlock<kGroup> best;
  for (int start = 0; start < kNumStarts; ++start) {
    float d = round_scale(extreme / static_cast<float>(kLowScale + start));
    for (int refit = 0; refit < kNumRefits; ++refit) {
      const auto block = choose_scales<Codes, kGroup, kLowScale, kHighScale>(x, ideal, d);
      d = round_scale(block.refit);
      if (block.error < best.error) best = block;
      if (d == block.d) break;
    }
  }
  return best;
}

// The codes of kCount values under a scale.
template <class Codes, std::size_t kCount>
void write_codes(const float* x, float scale, std::int8_t* codes) {
  const Float4 inverse = splat(inverse_or_zero(scale));
  for (std::size_t i = 0; i < kCount; i += kLanes) {
    const Float4 nearest = Codes::nearest(load4(x + i) * inverse);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      codes[i + lane] = static_cast<std::int8_t>(nearest[lane]);
  }
}

// The codes of a fitted block.
template <class Codes, std::size_t kGroup>
std::array<std::int8_t, 256> scaled_codes(const float* x, const ScaledBlock<kGroup>& block) {
  std::array<std::int8_t, 256> codes;
  for (std::size_t group = 0; group < block.kNumGroups; ++group) {
    const float scale = block.d * static_cast<float>(block.scales[group]);
    write_codes<Codes, kGroup>(x + group * kGroup, scale, codes.data() + group * kGroup);
  }
  return codes;
}

}  // namespace vitrine::quant
