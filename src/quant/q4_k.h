#pragma once

#include "quant/affine_search.h"
#include "tensor/dtype.h"

namespace vitrine::quant {

// The eight 6-bit scales and mins of Q4_K and Q5_K in 12 bytes. Groups 0 .. 3: scale and min are the low 6 bits of
// bytes g and 4 + g. Groups 4 .. 7: byte 4 + g has the low 4 bits of the scale in its low nibble, of the min in its
// high nibble; their upper 2 bits are the upper 2 bits of bytes g - 4 and g.
struct SixBitScales {
  std::array<int, 8> scales;
  std::array<int, 8> mins;
};

inline SixBitScales unpack_six_bit_scales(const std::uint8_t* bytes) {
  SixBitScales result;
  for (std::size_t group = 0; group < 4; ++group) {
    const std::uint8_t tail = bytes[8 + group];
    result.scales[group] = bytes[group] & 0x3F;
    result.mins[group] = bytes[4 + group] & 0x3F;
    result.scales[4 + group] = low_nibble(tail) | bytes[group] >> 6 << 4;
    result.mins[4 + group] = high_nibble(tail) | bytes[4 + group] >> 6 << 4;
  }
  return result;
}

inline void pack_six_bit_scales(const std::array<int, 8>& scales, const std::array<int, 8>& mins, std::uint8_t* bytes) {
  for (std::size_t group = 0; group < 4; ++group) {
    bytes[group] = static_cast<std::uint8_t>(scales[group] | scales[4 + group] >> 4 << 6);
    bytes[4 + group] = static_cast<std::uint8_t>(mins[group] | mins[4 + group] >> 4 << 6);
    bytes[8 + group] = nibbles(scales[4 + group] & 0x0F, mins[4 + group] & 0x0F);
  }
}

// Scales and offsets of a block of eight groups of 32.
inline void unpack_six_bit_scales(const std::uint8_t* bytes, float d, float dmin, Unpacked<256, 32, true>& parts) {
  const SixBitScales packed = unpack_six_bit_scales(bytes);
  for (std::size_t group = 0; group < 8; ++group) {
    parts.scales[group] = d * static_cast<float>(packed.scales[group]);
    parts.offsets[group] = -(dmin * static_cast<float>(packed.mins[group]));
  }
}

// 256 elements in 8 groups of 32, value = (d * scale) * q - dmin * min, q of 4 bits. Byte 32c + l of qs: the low nibble
// is q of element 64c + l, the high nibble that of element 64c + 32 + l.
struct BlockQ4_K {
  static constexpr tensor::DType kType = tensor::DType::kQ4_K;
  base::Float16 d;
  base::Float16 dmin;
  std::uint8_t scales[12];
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

inline Unpacked<256, 32, true> unpack(const BlockQ4_K& block) {
  Unpacked<256, 32, true> parts;
  unpack_six_bit_scales(block.scales, base::to_float(block.d), base::to_float(block.dmin), parts);
  for (std::size_t chunk = 0; chunk < 4; ++chunk) {
    for (std::size_t l = 0; l < 32; ++l) {
      const std::uint8_t byte = block.qs[chunk * 32 + l];
      parts.codes[chunk * 64 + l] = static_cast<std::int8_t>(low_nibble(byte));
      parts.codes[chunk * 64 + 32 + l] = static_cast<std::int8_t>(high_nibble(byte));
    }
  }
  return parts;
}

inline void encode(const float* values, BlockQ4_K& block) {
  const auto x = bounded<256>(values);
  const auto fitted = fit_affine_block<15, 63, 32>(x.data());
  const auto codes = affine_codes<15>(x.data(), fitted);
  block.d = base::to_float16(fitted.d);
  block.dmin = base::to_float16(fitted.dmin);
  pack_six_bit_scales(fitted.scales, fitted.mins, block.scales);
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t element = i / 32 * 64 + i % 32;
    block.qs[i] = nibbles(codes[element], codes[element + 32]);
  }
}

}  // namespace vitrine::quant
