#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vitrine::models {
namespace {

// Llama 3.1: long waves are stretched by `factor`, short ones kept, those between are mixed.
double llama3_frequency(const RopeConfig& config, double frequency) {
  const auto original = static_cast<double>(config.original_context);
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  if (wavelength > original / config.low_freq_factor) return frequency / config.factor;
  if (wavelength < original / config.high_freq_factor) return frequency;
  const double keep = (original / wavelength - config.low_freq_factor) /
                      (static_cast<double>(config.high_freq_factor) - config.low_freq_factor);
  return (1.0 - keep) * frequency / config.factor + keep * frequency;
}

// YaRN: the pair at which a wave makes `rotations` turns within the original context.
double yarn_pair(const RopeConfig& config, double rotations) {
  const auto dim = static_cast<double>(config.rotary_dim);
  const auto original = static_cast<double>(config.original_context);
  return dim * std::log(original / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(config.theta));
}

double yarn_frequency(const RopeConfig& config, std::size_t pair, double frequency) {
  const auto last = static_cast<double>(config.rotary_dim) - 1.0;
  const double low = std::max(0.0, std::floor(yarn_pair(config, config.beta_fast)));
  double high = std::min(last, std::ceil(yarn_pair(config, config.beta_slow)));
  if (high == low) high += 0.001;
  const double stretched = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return stretched * frequency / config.factor + (1.0 - stretched) * frequency;
}

double scaled_frequency(const RopeConfig& config, std::size_t pair, double frequency) {
  switch (config.scaling) {
    case RopeScaling::kNone:
      return frequency;
    case RopeScaling::kLinear:
      return frequency / config.factor;
    case RopeScaling::kLlama3:
      return llama3_frequency(config, frequency);
    case RopeScaling::kYarn:
      return yarn_frequency(config, pair, frequency);
  }
  return frequency;
}

double yarn_magnitude(const RopeConfig& config) {
  if (config.attention_factor) return *config.attention_factor;
  return config.factor <= 1.0F ? 1.0 : 0.1 * std::log(static_cast<double>(config.factor)) + 1.0;
}

}  // namespace

Rope::Rope(const RopeConfig& config) : interleaved_(config.interleaved) {
  if (config.scaling == RopeScaling::kYarn) magnitude_ = yarn_magnitude(config);
  for (std::size_t pair = 0; pair < config.rotary_dim / 2; ++pair) {
    const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(config.rotary_dim);
    double frequency = std::pow(static_cast<double>(config.theta), -exponent);
    if (!config.freq_factors.empty()) frequency /= static_cast<double>(config.freq_factors[pair]);
    inverse_frequency_.push_back(scaled_frequency(config, pair, frequency));
  }
}

void Rope::angles(std::span<const std::size_t> positions, ops::RopeAngles& out) const {
  const std::size_t num_pairs = inverse_frequency_.size();
  out.num_pairs = num_pairs;
  out.interleaved = interleaved_;
  out.cosines.resize(positions.size() * num_pairs);
  out.sines.resize(positions.size() * num_pairs);
  for (std::size_t row_idx = 0; row_idx < positions.size(); ++row_idx) {
    for (std::size_t pair = 0; pair < num_pairs; ++pair) {
      const double angle = static_cast<double>(positions[row_idx]) * inverse_frequency_[pair];
      out.cosines[row_idx * num_pairs + pair] = static_cast<float>(std::cos(angle) * magnitude_);
      out.sines[row_idx * num_pairs + pair] = static_cast<float>(std::sin(angle) * magnitude_);
    }
  }
}

}  // namespace vitrine::models
