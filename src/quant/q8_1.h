#pragma once

#include "quant/q8_0.h"

namespace vitrine::quant {

// 32 elements, value = d * qs[i]; s = d * sum(qs), which kernels multiply by the offset of an affine weight block.
struct BlockQ8_1 {
  static constexpr tensor::DType kType = tensor::DType::kQ8_1;
  base::Float16 d;
  base::Float16 s;
  std::int8_t qs[32];
};
static_assert(sizeof(BlockQ8_1) == 36);

inline Unpacked<32, 32> unpack(const BlockQ8_1& block) {
  Unpacked<32, 32> parts;
  parts.scales[0] = base::to_float(block.d);
  std::copy_n(block.qs, 32, parts.codes.data());
  return parts;
}

inline void encode(const float* values, BlockQ8_1& block) {
  BlockQ8_0 plain;
  encode(values, plain);
  block.d = plain.d;
  std::copy_n(plain.qs, 32, block.qs);
  int sum = 0;
  for (const std::int8_t code : block.qs)
    sum += code;
  const float unrounded_d = std::abs(signed_extreme<32>(values)) / 127.0F;
  block.s = base::to_float16((unrounded_d + nan_unless_finite<32>(values)) * static_cast<float>(sum));
}

}  // namespace vitrine::quant
