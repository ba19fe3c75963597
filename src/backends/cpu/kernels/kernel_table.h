#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/split_tile.h"
#include "base/float16.h"

// The seam between the CPU backend and its kernels: raw pointers and sizes, one table of functions per instruction set.
// Every table computes the same bits (docs/numerics.md); the generic one is the definition.
namespace vitrine::backends::cpu {

// Output rows that are interleaved in a packed weight tile; a SIMD lane is an output row.
inline constexpr std::size_t kTileRows = 16;
// Activations that share a scale.
inline constexpr std::size_t kActivationGroup = 32;

// How a weight matrix is laid out after repacking (packed_matrix.h describes each).
enum class PackedKind : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kIQ4_NL,
  kMXFP4,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_XS,
  kSplitQ8_0,  // a head's Q8_0, the high bits of all codes by themselves (split_tile.h)
  kRaw,        // the file's own blocks: decoded to a slab whenever they are used
};
inline constexpr std::size_t kNumPackedKinds = static_cast<std::size_t>(PackedKind::kRaw) + 1;

// Bytes of a block of 16 output rows; 0 where the kind has no int8 blocks.
constexpr std::size_t packed_block_bytes(PackedKind kind) {
  switch (kind) {
    case PackedKind::kQ4_0:
    case PackedKind::kIQ4_NL:
      return 288;
    case PackedKind::kQ4_1:
      return 320;
    case PackedKind::kQ5_0:
      return 352;
    case PackedKind::kQ5_1:
      return 384;
    case PackedKind::kQ8_0:
      return 544;
    case PackedKind::kSplitQ8_0:  // in three places
      return 608;
    case PackedKind::kMXFP4:
      return 272;
    case PackedKind::kQ2_K:
      return 1344;
    case PackedKind::kQ3_K:
      return 1824;
    case PackedKind::kQ4_K:
      return 2368;
    case PackedKind::kQ5_K:
      return 2880;
    case PackedKind::kQ6_K:
      return 3360;
    case PackedKind::kIQ4_XS:
      return 2208;
    default:
      return 0;
  }
}

// What the codes of a table format stand for, plus 128, so that they count as full bytes (GGUF IQ4_NL; OCP MX E2M1,
// doubled to integers). Not inline: kernels may emit no symbol that the linker could share.
alignas(16) constexpr std::uint8_t kIq4Table[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                    129, 141, 153, 166, 181, 197, 217, 241};
alignas(16) constexpr std::uint8_t kMxfp4Table[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                                      128, 127, 126, 125, 124, 122, 120, 116};

// What a group of 32 activations has in common.
struct GroupFactors {
  float scale;
  float scaled_sum;           // scale * the sum of its codes: what a weight's minimum is multiplied with
  std::int32_t half_sums[2];  // of 16 codes each: what a weight's offset is multiplied with
};

// Activation rows as the latency path reads them.
struct QuantizedRows {
  const std::int8_t* codes;     // [num_rows][k]
  const GroupFactors* factors;  // [num_rows][k / 32]
};

// Neighbouring packed tiles of 16 output rows each.
struct Int8Tiles {
  const std::uint8_t* first;
  std::size_t stride;  // bytes from one to the next
  std::size_t count;   // 1 or 2
};
// Those times some activation rows; out[row] points at the 16 results of that row for each tile, of which for the last
// tile the first `lanes` exist.
using Int8TileKernel = void (*)(const Int8Tiles& tiles, const QuantizedRows& rows, std::size_t num_rows, std::size_t k,
                                float* const* out, std::size_t lanes);
// One tile with float activations [num_rows][k]; `tile` is [k][16] of the kind's element type.
using FloatTileKernel = void (*)(const void* tile, const float* rows, std::size_t num_rows, std::size_t k,
                                 float* const* out, std::size_t lanes);

// The values of a packed tile, [k][16], bit for bit those of the reference decode.
using UnpackKernel = void (*)(const std::uint8_t* tile, std::size_t k, float* values);

// Positions whose exponentials are summed up together. Parts begin at multiples of it, so a row's sums are cut at the
// same places however its step was made up. A multiple of 16.
inline constexpr std::size_t kAttentionPart = 512;

// A query head at one position, which sees the positions [begin, end).
struct AttentionQuery {
  const float* query;  // [head_dim]
  std::size_t begin;
  std::size_t end;
};

// What a query got from one part: the largest score, the sum of exp(score - largest), and from kAttentionRecordHead on
// the values weighted with those, [head_dim].
inline constexpr std::size_t kAttentionRecordHead = 16;
constexpr std::size_t attention_record(std::size_t head_dim) {
  return kAttentionRecordHead + head_dim;
}

// Queries under one KV head of one sequence, over one part of its positions. Blocks are those of the part.
struct AttentionPart {
  const std::byte* const* keys;          // [blocks]: [head_dim][16]
  const std::byte* const* values;        // [blocks]: [16][head_dim]
  const std::byte* const* key_scales;    // [blocks]: [head_dim / 32][16], quantized caches only
  const std::byte* const* value_scales;  // [blocks]: [16][head_dim / 32]
  const AttentionQuery* queries;         // [num_queries]
  float* records;                        // [num_queries][attention_record(head_dim)]
  float* scores;                         // scratch, [attention_queries of the table][kAttentionPart]
  std::size_t num_queries;
  std::size_t head_dim;  // a multiple of 16
  std::size_t first_position;
  float scale;
};
using AttentionKernel = void (*)(const AttentionPart& part);

struct AttentionWeights {
  float largest;
  float sum;
};

// Inputs in a tile of the tile unit (AMX-BF16, Intel SDM: TDPBF16PS). Rows and weights are padded to whole tiles with
// zeros, which change no sum.
inline constexpr std::size_t kTileK = 32;
inline constexpr std::size_t kTileHalves = 16 * kTileK;  // elements of a tile
constexpr std::size_t num_k_tiles(std::size_t k) {
  return (k + kTileK - 1) / kTileK;
}

// One or two weight tiles times activation rows, all in bf16. Rows are read in sixteens: as many must be readable
// behind the last as it takes.
struct TileProduct {
  const std::uint16_t* slabs;  // [num_slabs][k_tiles][16 pairs of inputs][16 output rows][2]
  std::size_t slab_stride;     // elements from the first slab to the second
  std::size_t num_slabs;       // 1 or 2
  std::size_t k_tiles;
  const std::uint16_t* rows;  // [k_tiles][row_stride][32]
  std::size_t row_stride;
  std::size_t num_rows;
  float* sums;        // scratch, [ceil(num_rows / 16)][num_slabs][16][16]
  float* const* out;  // [num_rows]: 16 results for each slab, of the last one `lanes`
  std::size_t lanes;
};

// Tiles that one call of a kernel multiplies at most.
inline constexpr std::size_t kMaxTiles = 2;

// What is known of a row of results without keeping them, for each lane of the tiles that went by. Keys are integers in
// the order of the floats, with NaNs outside both infinities.
struct LanePeaks {
  alignas(64) std::int32_t largest[kTileRows];
  std::int32_t tiles[kTileRows];  // in which it stood, the first of equals
  std::int32_t smallest[kTileRows];
};

// A tile of which one result is at least `floor`.
struct SureTile {
  float floor;
  std::uint32_t tile_idx;
};

// What a run of tiles of kSplitQ8_0 can hold at most, told from the high bits of their codes (docs/numerics.md).
struct ScreenTask {
  const std::uint8_t* first;  // tile
  std::size_t tile_idx;       // of that
  std::size_t num_tiles;
  std::size_t k;
  QuantizedRows rows;
  std::size_t num_rows;
  const float* lengths;         // [num_rows]: at least sqrt(sum of the squares of the row's values), finite
  float* ceilings;              // [num_rows][ceilings_stride], from the first tile on: no result of it is larger
  std::size_t ceilings_stride;  // infinity where a weight's scale is none
  SureTile* sure_tiles;         // [num_rows]: takes in the tile whose floor is highest
};

using PeakLoop = double (*)(std::size_t num_steps);

// Products of bf16 matrices by a unit of the processor: the tile unit in the order of the throughput path, AVX512-BF16
// in that of pairs.
struct TileUnit {
  // A packed tile to a slab [k_tiles][16][16][2]; nullptr for kRaw, and where the unit multiplies no weights.
  std::array<void (*)(const std::uint8_t* tile, std::size_t k, std::uint16_t* slab), kNumPackedKinds> decode_slab;
  // The same from values [k][16].
  void (*pack_slab)(const float* values, std::size_t k, std::uint16_t* slab);
  // Sixteen rows of 16 elements of the kind, `stride` elements apart, to half a k tile of a slab: rows from `num_valid`
  // on count as zeros. Only for kF32, kF16 and kBF16.
  std::array<void (*)(const void* rows, std::size_t stride, std::size_t num_valid, std::uint16_t* slab), 3> pack_rows;
  // An activation row [k] to its place in [k_tiles][row_stride][32].
  void (*pack_row)(const float* x, std::size_t k, std::uint16_t* row, std::size_t row_stride);
  // KernelTable::attention_weights, of which the weights go where pack_row has them: those of the positions from
  // `first` on are the inputs. What it leaves in `products` means nothing.
  AttentionWeights (*pack_attention_weights)(float* products, std::size_t first, std::size_t last, std::size_t begin,
                                             std::size_t end, float scale, std::uint16_t* row, std::size_t row_stride);
  // Between begin() and end() the calling thread may multiply.
  void (*begin)();
  void (*multiply)(const TileProduct& product);
  PeakLoop peak;  // as in KernelTable
  void (*end)();
};

struct KernelTable {
  const char* isa;
  // out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]
  void (*rms_norm)(const float* x, const float* weight, float* out, std::size_t n, float eps);
  // out[i] = activation(gate[i]) * up[i]; `out` may be `gate`
  void (*silu_mul)(const float* gate, const float* up, float* out, std::size_t n);
  void (*gelu_tanh_mul)(const float* gate, const float* up, float* out, std::size_t n);
  // (first[i], second[i]) = (first[i] * cosines[i] - second[i] * sines[i], second[i] * cosines[i] + first[i] *
  // sines[i])
  void (*rotate_pairs)(float* first, float* second, const float* cosines, const float* sines, std::size_t n);
  void (*quantize_row)(const float* x, std::size_t k, std::int8_t* codes, GroupFactors* factors);
  // The same of what rms_norm() or an activation makes of a row; k is a multiple of kActivationGroup.
  void (*quantize_normed_row)(const float* x, const float* weight, float eps, std::size_t k, std::int8_t* codes,
                              GroupFactors* factors);
  using QuantizeGatedRow = void (*)(const float* gate, const float* up, std::size_t k, std::int8_t* codes,
                                    GroupFactors* factors);
  QuantizeGatedRow quantize_silu_row;
  QuantizeGatedRow quantize_gelu_tanh_row;
  // n values to float16, ties to even, a NaN to a NaN; n is a multiple of 16.
  void (*narrow_to_f16)(const float* x, std::size_t n, base::Float16* out);
  // Throughput path: slab [k][16] and rows [num_rows][k] hold bf16 values, subnormals count as zero.
  FloatTileKernel throughput_tile;
  const TileUnit* tile_unit;  // computes the same instead, where there is one; else nullptr
  // The path of pairs, for slabs and rows of the same values: each pair of inputs is added to the sum by two fused
  // multiply-adds, the odd one first; subnormal results count as zero.
  FloatTileKernel pairs_tile;
  const TileUnit* pair_unit;  // computes the same instead, where there is one; else nullptr
  // nullptr where the kind has no float (or no int8) product.
  std::array<FloatTileKernel, kNumPackedKinds> float_tile;
  std::array<Int8TileKernel, kNumPackedKinds> int8_tile;
  std::array<UnpackKernel, kNumPackedKinds> unpack_tile;
  // values[i] becomes the nearest bf16 (ties to even), subnormals become zero before that.
  void (*round_to_bf16)(float* values, std::size_t n);
  AttentionKernel attention_f32;
  AttentionKernel attention_f16;
  AttentionKernel attention_bf16;
  AttentionKernel attention_q8_0;
  std::size_t attention_queries;  // that share a pass over a block
  // The same by way of matrix products: of a query's products with the keys of a part, [kAttentionPart], those of the
  // positions [first, last), multiples of 16, become weights: exp(product * scale - the largest), zero outside of
  // [begin, end). Returns the largest and the sum, as the head of a record holds them.
  AttentionWeights (*attention_weights)(float* products, std::size_t first, std::size_t last, std::size_t begin,
                                        std::size_t end, float scale);
  // A query's result from its records of all parts, `stride` floats apart.
  void (*combine_attention)(const float* records, std::size_t num_parts, std::size_t stride, std::size_t head_dim,
                            float* out);
  // Takes in the results of `num_tiles` tiles, of which `tile_idx` is the first, [num_rows][kMaxTiles][kTileRows].
  // Tiles come in their order.
  void (*note_peaks)(const float* values, std::size_t num_rows, std::size_t num_tiles, std::int32_t tile_idx,
                     LanePeaks* peaks);
  void (*screen_tiles)(const ScreenTask& task);
  // Loops that touch no memory: how many multiplications and additions they did. The roofs of the kernels above.
  PeakLoop float_peak;
  PeakLoop int8_peak;
};

const KernelTable& generic_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx512_kernels();
const TileUnit& avx512_pair_unit();
const TileUnit& amx_tile_unit();

}  // namespace vitrine::backends::cpu
