#include "quant/quant_format.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/mxfp4.h"
#include "quant/nvfp4.h"
#include "quant/plain.h"
#include "quant/q1_0.h"
#include "quant/q2_0.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "quant/q8_1.h"
#include "quant/q8_k.h"
#include "quant/row_functions.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

namespace vitrine::quant {
namespace {

using enum tensor::DType;

template <class Number>
constexpr QuantFormat floats(tensor::DType type) {
  return {type, decode_plain<Number>, encode_plain<Number>, dot_plain<Number>, kF32};
}

template <class Number>
constexpr QuantFormat integers(tensor::DType type) {
  return {type, decode_plain<Number>, nullptr, nullptr, kF32};
}

template <class Block>
constexpr QuantFormat blocks() {
  using Activations = std::conditional_t<UnpackedOf<Block>::kElements == 256, BlockQ8_K, BlockQ8_0>;
  QuantFormat format{Block::kType, decode_row<Block>, nullptr, dot_row<Block, Activations>, Activations::kType};
  if constexpr (requires(const float* values, Block& block) { encode(values, block); })
    format.encode = encode_row<Block>;
  return format;
}

// One row per format.
constexpr std::array kFormats = {
    floats<float>(kF32),          floats<base::Float16>(kF16),  floats<base::BFloat16>(kBF16),
    floats<double>(kF64),         integers<std::int8_t>(kI8),   integers<std::int16_t>(kI16),
    integers<std::int32_t>(kI32), integers<std::int64_t>(kI64), blocks<BlockQ1_0>(),
    blocks<BlockQ2_0>(),          blocks<BlockQ4_0>(),          blocks<BlockQ4_1>(),
    blocks<BlockQ5_0>(),          blocks<BlockQ5_1>(),          blocks<BlockQ8_0>(),
    blocks<BlockQ8_1>(),          blocks<BlockQ2_K>(),          blocks<BlockQ3_K>(),
    blocks<BlockQ4_K>(),          blocks<BlockQ5_K>(),          blocks<BlockQ6_K>(),
    blocks<BlockQ8_K>(),          blocks<BlockIQ1_S>(),         blocks<BlockIQ1_M>(),
    blocks<BlockIQ2_XXS>(),       blocks<BlockIQ2_XS>(),        blocks<BlockIQ2_S>(),
    blocks<BlockIQ3_XXS>(),       blocks<BlockIQ3_S>(),         blocks<BlockIQ4_NL>(),
    blocks<BlockIQ4_XS>(),        blocks<BlockTQ1_0>(),         blocks<BlockTQ2_0>(),
    blocks<BlockMXFP4>(),         blocks<BlockNVFP4>(),
};

}  // namespace

const QuantFormat* find_quant_format(tensor::DType type) {
  const auto* found = std::ranges::find(kFormats, type, &QuantFormat::type);
  return found == kFormats.end() ? nullptr : found;
}

std::span<const QuantFormat> quant_formats() {
  return kFormats;
}

}  // namespace vitrine::quant
