#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/cpu/kernels/kernel_table.h"
#include "tensor/dtype.h"

namespace vitrine::backends::cpu {

// Goes up whenever the packed bytes of any weight change, since files of packed weights outlive a build.
inline constexpr std::uint32_t kPackedLayoutVersion = 2;

// Bits of the codes of one block: `bits` of each code, moved down by `shift`, lie at `offset`.
// With kk = k % 32, of 16 rows by 32 inputs (one group), row r:
//   8 bits: byte 64 (kk / 4)  + 4 r + kk % 4
//   4 bits: byte 64 (kk / 8)  + 4 r + kk % 4, low nibble where kk % 8 < 4, else high
//   2 bits: byte 64 (kk / 16) + 4 r + kk % 4, bits 2 t and 2 t + 1 with t = kk % 16 / 4
//   1 bit:  byte                4 r + kk % 4, bit kk / 4
// so that four consecutive inputs of 16 rows come out of one 64-byte load.
struct CodePlane {
  std::uint8_t bits = 0;  // 0: absent
  std::uint8_t shift = 0;
  std::uint16_t offset = 0;
};

enum class ScaleForm : std::uint8_t {
  kNone,
  kFloat16,     // [16] float16 per block
  kE8M0,        // [16] exponents of a power of two, halved (MXFP4)
  kUnsigned,    // [groups][16] uint8, times the block's float16
  kSigned,      // [groups][16] int8, times the block's float16
  kLowNibble,   // [groups][16], the low half of the byte, times the block's float16
  kHighNibble,  // the high half
};

// A block of the packed form: 16 output rows by block_k inputs. Scales [16] lie before the codes, so a block's bytes
// are those of 16 blocks of the file, apart from six-bit scales that are widened to bytes.
struct PackedLayout {
  PackedKind kind;
  tensor::DType type;
  std::uint16_t block_k;
  std::uint16_t group_k;  // inputs that share a scale
  std::array<CodePlane, 2> planes;
  std::uint8_t code_offset;  // what is subtracted from a code
  ScaleForm scale_form;
  std::uint16_t sub_scale_offset;  // of the integers that the block's float16 at 0 is multiplied with
  ScaleForm minimum_form;          // added (kFloat16) or subtracted (integer forms)
  std::uint16_t minimum_offset;    // of the block's float16
  std::uint16_t sub_minimum_offset;
  const std::uint8_t* table = nullptr;  // codes stand for table[code] - 128

  std::size_t block_bytes() const { return packed_block_bytes(kind); }
};

// nullptr where the type has no int8 layout.
const PackedLayout* find_packed_layout(tensor::DType type);
std::span<const PackedLayout> packed_layouts();

}  // namespace vitrine::backends::cpu
