#include "backends/cpu/pack.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/code_plane.h"
#include "base/check.h"
#include "base/float16.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/mxfp4.h"
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

namespace vitrine::backends::cpu {
namespace {

constexpr std::size_t kMaxBlockK = 256;
constexpr std::size_t kMaxGroups = 16;

// One row's part of a block, as the layouts hold it.
struct RowBlock {
  std::uint8_t codes[kMaxBlockK] = {};  // unsigned: the code offset is still in
  base::Float16 scale;
  base::Float16 minimum;
  std::uint8_t exponent = 0;
  std::uint8_t sub_scales[kMaxGroups] = {};  // bytes; signed forms keep their two's complement
  std::uint8_t sub_minimums[kMaxGroups] = {};
};

template <typename Block>
RowBlock with_codes(const Block& block, int offset) {
  const auto parts = unpack(block);
  RowBlock row;
  for (std::size_t i = 0; i < parts.codes.size(); ++i)
    row.codes[i] = static_cast<std::uint8_t>(parts.codes[i] + offset);
  return row;
}

template <typename Block>
RowBlock with_codes_and_scale(const Block& block, int offset) {
  RowBlock row = with_codes(block, offset);
  row.scale = block.d;
  return row;
}

// The table's formats keep the nibbles: byte i of 16 holds elements i and i + 16.
void take_nibbles(const std::uint8_t* qs, std::uint8_t* codes) {
  for (std::size_t i = 0; i < 16; ++i) {
    codes[i] = qs[i] & 0x0F;
    codes[i + 16] = qs[i] >> 4;
  }
}

RowBlock row_block(const quant::BlockQ4_0& block) {
  return with_codes_and_scale(block, 8);
}
RowBlock row_block(const quant::BlockQ5_0& block) {
  return with_codes_and_scale(block, 16);
}
RowBlock row_block(const quant::BlockQ8_0& block) {
  return with_codes_and_scale(block, 128);
}

template <typename Block>
RowBlock affine_row_block(const Block& block) {
  RowBlock row = with_codes_and_scale(block, 0);
  row.minimum = block.m;
  return row;
}
RowBlock row_block(const quant::BlockQ4_1& block) {
  return affine_row_block(block);
}
RowBlock row_block(const quant::BlockQ5_1& block) {
  return affine_row_block(block);
}

RowBlock row_block(const quant::BlockIQ4_NL& block) {
  RowBlock row;
  row.scale = block.d;
  take_nibbles(block.qs, row.codes);
  return row;
}

RowBlock row_block(const quant::BlockMXFP4& block) {
  RowBlock row;
  row.exponent = block.e;
  take_nibbles(block.qs, row.codes);
  return row;
}

RowBlock row_block(const quant::BlockIQ4_XS& block) {
  RowBlock row;
  row.scale = block.d;
  for (std::size_t group = 0; group < 8; ++group) {
    take_nibbles(block.qs + 16 * group, row.codes + 32 * group);
    row.sub_scales[group] = static_cast<std::uint8_t>(quant::iq4_xs_scale(block, group));
  }
  return row;
}

template <typename Block>
RowBlock six_bit_row_block(const Block& block) {
  RowBlock row = with_codes_and_scale(block, 0);
  row.minimum = block.dmin;
  const quant::SixBitScales packed = quant::unpack_six_bit_scales(block.scales);
  for (std::size_t group = 0; group < 8; ++group) {
    row.sub_scales[group] = static_cast<std::uint8_t>(packed.scales[group]);
    row.sub_minimums[group] = static_cast<std::uint8_t>(packed.mins[group]);
  }
  return row;
}
RowBlock row_block(const quant::BlockQ4_K& block) {
  return six_bit_row_block(block);
}
RowBlock row_block(const quant::BlockQ5_K& block) {
  return six_bit_row_block(block);
}

RowBlock row_block(const quant::BlockQ2_K& block) {
  RowBlock row = with_codes_and_scale(block, 0);
  row.minimum = block.dmin;
  std::copy_n(block.scales, 16, row.sub_scales);  // both halves; the minimums read the same bytes
  return row;
}

RowBlock row_block(const quant::BlockQ3_K& block) {
  RowBlock row = with_codes_and_scale(block, 4);
  for (std::size_t group = 0; group < 16; ++group) {
    row.sub_scales[group] = static_cast<std::uint8_t>(quant::q3_k_scale(block, group));
  }
  return row;
}

RowBlock row_block(const quant::BlockQ6_K& block) {
  RowBlock row = with_codes_and_scale(block, 32);
  std::memcpy(row.sub_scales, block.scales, sizeof(block.scales));
  return row;
}

// Where bits of the code of input k, row `lane`, lie inside a plane, and how far up in the byte.
struct BitPlace {
  std::size_t byte;
  unsigned shift;
};

BitPlace bit_place(unsigned bits, std::size_t k, std::size_t lane) {
  const std::size_t kk = k % 32;
  const std::size_t group = k / 32 * (64 * bits);
  const std::size_t within = 4 * lane + kk % 4;
  switch (bits) {
    case 8:
      return {group + 64 * (kk / 4) + within, 0};
    case 4:
      return {group + 64 * (kk / 8) + within, kk % 8 < 4 ? 0U : 4U};
    case 2:
      return {group + 64 * (kk / 16) + within, static_cast<unsigned>(2 * (kk % 16 / 4))};
    default:
      return {group + within, static_cast<unsigned>(kk / 4)};
  }
}

void put_float16(std::uint8_t* out, std::size_t lane, base::Float16 value) {
  std::memcpy(out + 2 * lane, &value, sizeof(value));
}

base::Float16 float16_at(const std::uint8_t* p, std::size_t lane) {
  base::Float16 value;
  std::memcpy(&value, p + 2 * lane, sizeof(value));
  return value;
}

void put_row_block(const PackedLayout& layout, const RowBlock& row, std::size_t lane, std::uint8_t* out) {
  const std::size_t num_groups = layout.block_k / layout.group_k;
  if (layout.scale_form == ScaleForm::kE8M0) {
    out[lane] = row.exponent;
  } else {
    put_float16(out, lane, row.scale);
  }
  if (layout.minimum_form != ScaleForm::kNone) put_float16(out + layout.minimum_offset, lane, row.minimum);
  if (layout.sub_scale_offset != 0) {
    for (std::size_t g = 0; g < num_groups; ++g)
      out[layout.sub_scale_offset + kTileRows * g + lane] = row.sub_scales[g];
  }
  if (layout.minimum_form == ScaleForm::kUnsigned) {
    for (std::size_t g = 0; g < num_groups; ++g)
      out[layout.sub_minimum_offset + kTileRows * g + lane] = row.sub_minimums[g];
  }
  for (const CodePlane& plane : layout.planes) {
    std::uint8_t* codes = out + plane.offset;
    switch (plane.bits) {
      case 8:
        put_plane<8>(row.codes, plane.shift, layout.block_k, lane, codes);
        break;
      case 4:
        put_plane<4>(row.codes, plane.shift, layout.block_k, lane, codes);
        break;
      case 2:
        put_plane<2>(row.codes, plane.shift, layout.block_k, lane, codes);
        break;
      case 1:
        put_plane<1>(row.codes, plane.shift, layout.block_k, lane, codes);
        break;
      default:
        break;
    }
  }
}

template <typename Block>
void pack_rows(const PackedLayout& layout, const tensor::TensorView& weight, std::size_t tile_idx, std::uint8_t* out) {
  const std::size_t first_row = tile_idx * kTileRows;
  const std::size_t num_lanes = std::min(kTileRows, weight.shape[0] - first_row);
  const std::size_t num_blocks = weight.shape[1] / layout.block_k;
  for (std::size_t lane = 0; lane < num_lanes; ++lane) {
    const std::byte* row = weight.row(first_row + lane);
    for (std::size_t block_idx = 0; block_idx < num_blocks; ++block_idx) {
      put_row_block(layout, row_block(quant::load_block<Block>(row, block_idx)), lane,
                    out + block_idx * layout.block_bytes());
    }
  }
}

int code_at(const PackedLayout& layout, const std::uint8_t* block, std::size_t k, std::size_t lane) {
  unsigned code = 0;
  for (const CodePlane& plane : layout.planes) {
    if (plane.bits == 0) continue;
    const BitPlace place = bit_place(plane.bits, k, lane);
    code |= (block[plane.offset + place.byte] >> place.shift & ((1U << plane.bits) - 1)) << plane.shift;
  }
  return static_cast<int>(layout.table != nullptr ? layout.table[code] : code) - layout.code_offset;
}

float scale_at(ScaleForm form, const std::uint8_t* wide, const std::uint8_t* integers, std::size_t group,
               std::size_t lane) {
  if (form == ScaleForm::kE8M0) return quant::half_e8m0(wide[lane]);
  const float scale = base::to_float(float16_at(wide, lane));
  if (form == ScaleForm::kFloat16) return scale;
  const std::uint8_t byte = integers[kTileRows * group + lane];
  switch (form) {
    case ScaleForm::kSigned:
      return scale * static_cast<float>(static_cast<std::int8_t>(byte));
    case ScaleForm::kLowNibble:
      return scale * static_cast<float>(byte & 0x0F);
    case ScaleForm::kHighNibble:
      return scale * static_cast<float>(byte >> 4);
    default:
      return scale * static_cast<float>(byte);
  }
}

void unpack_block(const PackedLayout& layout, const std::uint8_t* block, std::size_t lane, float* values) {
  for (std::size_t group = 0; group < layout.block_k / layout.group_k; ++group) {
    const float scale = scale_at(layout.scale_form, block, block + layout.sub_scale_offset, group, lane);
    float offset = 0.0F;
    if (layout.minimum_form != ScaleForm::kNone) {
      offset =
          scale_at(layout.minimum_form, block + layout.minimum_offset, block + layout.sub_minimum_offset, group, lane);
      if (layout.minimum_form != ScaleForm::kFloat16) offset = -offset;
    }
    for (std::size_t k = group * layout.group_k; k < (group + 1) * layout.group_k; ++k) {
      const float value = scale * static_cast<float>(code_at(layout, block, k, lane));
      values[k * kTileRows + lane] = layout.minimum_form == ScaleForm::kNone ? value : value + offset;
    }
  }
}

}  // namespace

void pack_tile(const PackedLayout& layout, const tensor::TensorView& weight, std::size_t tile_idx, std::uint8_t* out) {
  switch (layout.kind) {
    case PackedKind::kQ4_0:
      return pack_rows<quant::BlockQ4_0>(layout, weight, tile_idx, out);
    case PackedKind::kQ4_1:
      return pack_rows<quant::BlockQ4_1>(layout, weight, tile_idx, out);
    case PackedKind::kQ5_0:
      return pack_rows<quant::BlockQ5_0>(layout, weight, tile_idx, out);
    case PackedKind::kQ5_1:
      return pack_rows<quant::BlockQ5_1>(layout, weight, tile_idx, out);
    case PackedKind::kQ8_0:
      return pack_rows<quant::BlockQ8_0>(layout, weight, tile_idx, out);
    case PackedKind::kIQ4_NL:
      return pack_rows<quant::BlockIQ4_NL>(layout, weight, tile_idx, out);
    case PackedKind::kMXFP4:
      return pack_rows<quant::BlockMXFP4>(layout, weight, tile_idx, out);
    case PackedKind::kQ2_K:
      return pack_rows<quant::BlockQ2_K>(layout, weight, tile_idx, out);
    case PackedKind::kQ3_K:
      return pack_rows<quant::BlockQ3_K>(layout, weight, tile_idx, out);
    case PackedKind::kQ4_K:
      return pack_rows<quant::BlockQ4_K>(layout, weight, tile_idx, out);
    case PackedKind::kQ5_K:
      return pack_rows<quant::BlockQ5_K>(layout, weight, tile_idx, out);
    case PackedKind::kQ6_K:
      return pack_rows<quant::BlockQ6_K>(layout, weight, tile_idx, out);
    case PackedKind::kIQ4_XS:
      return pack_rows<quant::BlockIQ4_XS>(layout, weight, tile_idx, out);
    default:
      VT_CHECK(false, "a kind without an int8 layout");
  }
}

void unpack_tile(const PackedLayout& layout, const std::uint8_t* tile, std::size_t k, float* values) {
  for (std::size_t block_idx = 0; block_idx < k / layout.block_k; ++block_idx) {
    for (std::size_t lane = 0; lane < kTileRows; ++lane) {
      unpack_block(layout, tile + block_idx * layout.block_bytes(), lane,
                   values + block_idx * layout.block_k * kTileRows);
    }
  }
}

}  // namespace vitrine::backends::cpu
