#pragma once

#include "base/float16.h"
#include "quant/block.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// 128 elements, value = d or -d. Bit i of qs (lowest bit of the first byte first) is set where element i is +d.
struct BlockQ1_0 {
  static constexpr tensor::DType kType = tensor::DType::kQ1_0;
  base::Float16 d;
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ1_0) == 18);

inline Unpacked<128, 128> unpack(const BlockQ1_0& block) {
  Unpacked<128, 128> parts;
  parts.scales[0] = base::to_float(block.d);
  for (std::size_t i = 0; i < 128; ++i) {
    parts.codes[i] = static_cast<std::int8_t>(2 * (block.qs[i / 8] >> (i % 8) & 1) - 1);
  }
  return parts;
}

// The mean magnitude is the scale of least squared error.
inline void encode(const float* values, BlockQ1_0& block) {
  double sum = 0.0;
  std::fill_n(block.qs, 16, std::uint8_t{0});
  for (std::size_t i = 0; i < 128; ++i) {
    sum += static_cast<double>(std::abs(values[i]));
    const int bit = values[i] >= 0.0F ? 1 : 0;
    block.qs[i / 8] = static_cast<std::uint8_t>(block.qs[i / 8] | bit << (i % 8));
  }
  block.d = base::to_float16(static_cast<float>(sum / 128.0));
}

}  // namespace vitrine::quant
