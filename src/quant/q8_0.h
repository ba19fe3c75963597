#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 32 elements, value = d * qs[i]. Also the activations of the int8 dot products of formats with short blocks.
struct BlockQ8_0 {
  static constexpr tensor::DType kType = tensor::DType::kQ8_0;
  base::Float16 d;
  std::int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

inline Unpacked<32, 32> unpack(const BlockQ8_0& block) {
  Unpacked<32, 32> parts;
  parts.scales[0] = base::to_float(block.d);
  std::copy_n(block.qs, 32, parts.codes.data());
  return parts;
}

// The largest magnitude becomes 127. The codes belong to the unrounded scale, as the format's quantisers do it.
inline void encode(const float* values, BlockQ8_0& block) {
  const float d = std::abs(signed_extreme<32>(values)) / 127.0F;
  const float inverse = inverse_or_zero(d);
  block.d = base::to_float16(d + nan_unless_finite<32>(values));
  for (std::size_t i = 0; i < 32; ++i) {
    block.qs[i] = static_cast<std::int8_t>(round_to_code(values[i] * inverse, -127, 127));
  }
}

}  // namespace vitrine::quant
