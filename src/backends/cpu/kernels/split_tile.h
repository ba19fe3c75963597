#pragma once

#include <cstddef>
#include <cstdint>

namespace vitrine::backends::cpu {

// kSplitQ8_0: the parts of a whole matrix's codes lie one behind the other, so that what tells most of a result can be
// read alone: the high five bits, of which the fifth is there twice. A code c = 16 h + l stands for c - 128. A tile of
// 16 output rows by k inputs has three parts, in blocks of 32 inputs; planes of bits are those of CodePlane.
//   high   [16] float16: by how much a row's high bits may mislead, for each unit of length of the activations
//          int64, int64: bytes from here, the tile's beginning, to its middle and to its low part; 16 bytes of padding
//          [k / 32]: 16 float16 scales, the high halves of the codes (256 bytes)
//   middle [k / 32]: the uppermost bit of the low halves (64 bytes)
//   low    [k / 32]: the low halves (256 bytes)
struct SplitTile {
  static constexpr std::size_t kMiddleOffset = 32;
  static constexpr std::size_t kLowOffset = 40;
  static constexpr std::size_t kHeaderBytes = 64;
  static constexpr std::size_t kHighBytes = 32 + 256;
  static constexpr std::size_t kMiddleBytes = 64;
  static constexpr std::size_t kLowBytes = 256;
};
constexpr std::size_t split_high_bytes(std::size_t k) {
  return SplitTile::kHeaderBytes + k / 32 * SplitTile::kHighBytes;
}
constexpr std::size_t split_middle_bytes(std::size_t k) {
  return k / 32 * SplitTile::kMiddleBytes;
}
constexpr std::size_t split_low_bytes(std::size_t k) {
  return k / 32 * SplitTile::kLowBytes;
}

}  // namespace vitrine::backends::cpu
