#pragma once

#include <algorithm>
#include <cstddef>

#include "quant/block.h"

// The functions of a QuantFormat, made from a format's unpack() and encode().
namespace vitrine::quant {

template <class Block>
void decode_row(const std::byte* blocks, float* values, std::size_t num_elements) {
  using Parts = UnpackedOf<Block>;
  for (std::size_t block_idx = 0; block_idx < num_elements / Parts::kElements; ++block_idx) {
    const Parts parts = unpack(load_block<Block>(blocks, block_idx));
    for (std::size_t group = 0; group < Parts::kNumGroups; ++group) {
      const std::int8_t* codes = parts.codes.data() + group * Parts::kGroup;
      float* out = values + block_idx * Parts::kElements + group * Parts::kGroup;
      for (std::size_t i = 0; i < Parts::kGroup; ++i) {
        out[i] = parts.scales[group] * static_cast<float>(codes[i]);
        if constexpr (Parts::kAffine) out[i] += parts.offsets[group];
      }
    }
  }
}

template <class Block>
void encode_row(const float* values, std::byte* blocks, std::size_t num_elements) {
  constexpr std::size_t kElements = UnpackedOf<Block>::kElements;
  for (std::size_t block_idx = 0; block_idx < num_elements / kElements; ++block_idx) {
    Block block;
    encode(values + block_idx * kElements, block);
    store_block(block, blocks, block_idx);
  }
}

// One weight block by one activation block of int8 codes: integer sums per group, scaled in double.
template <class Weights, class Activations>
double dot_parts(const Weights& weights, std::size_t first, const Activations& activations) {
  constexpr std::size_t kChunk = std::min(Weights::kGroup, Activations::kElements);
  double total = 0.0;
  for (std::size_t start = 0; start < Activations::kElements; start += kChunk) {
    std::int32_t products = 0;
    std::int32_t sum = 0;
    for (std::size_t i = start; i < start + kChunk; ++i) {
      products += weights.codes[first + i] * activations.codes[i];
      sum += activations.codes[i];
    }
    const std::size_t group = (first + start) / Weights::kGroup;
    double chunk = static_cast<double>(weights.scales[group]) * products;
    if constexpr (Weights::kAffine) chunk += static_cast<double>(weights.offsets[group]) * sum;
    total += chunk * static_cast<double>(activations.scales[0]);
  }
  return total;
}

template <class Block, class ActivationBlock>
float dot_row(const std::byte* weights, const std::byte* activations, std::size_t num_elements) {
  using Weights = UnpackedOf<Block>;
  using Activations = UnpackedOf<ActivationBlock>;
  static_assert(Weights::kElements % Activations::kElements == 0 && Activations::kNumGroups == 1);
  constexpr std::size_t kRatio = Weights::kElements / Activations::kElements;
  double total = 0.0;
  for (std::size_t block_idx = 0; block_idx < num_elements / Weights::kElements; ++block_idx) {
    const Weights parts = unpack(load_block<Block>(weights, block_idx));
    for (std::size_t i = 0; i < kRatio; ++i) {
      const auto block = load_block<ActivationBlock>(activations, block_idx * kRatio + i);
      total += dot_parts(parts, i * Activations::kElements, unpack(block));
    }
  }
  return static_cast<float>(total);
}

}  // namespace vitrine::quant
