#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "backends/cpu/aligned_buffer.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/screening.h"

// Sizes of the buffers that CpuBackend's operations work in: they and the forecast of their memory reckon alike.
namespace vitrine::backends::cpu {

// Activation rows of width k as int8 codes and their factors.
struct QuantizedRowsSize {
  std::size_t codes_bytes;
  std::size_t factors_bytes;

  std::size_t total() const { return codes_bytes + factors_bytes; }
};
constexpr QuantizedRowsSize quantized_rows_size(std::size_t num_rows, std::size_t k) {
  return {num_rows * k, num_rows * (k / kActivationGroup) * sizeof(GroupFactors)};
}

constexpr std::size_t float_rows_bytes(std::size_t num_rows, std::size_t k) {
  return num_rows * k * sizeof(float);
}

// A tile's values, [k][kTileRows].
constexpr std::size_t slab_bytes(std::size_t k) {
  return k * kTileRows * sizeof(float);
}

// Rows that stay in the second-level cache while a run of tiles is multiplied with them.
inline constexpr std::size_t kRowBlock = 128;

// A thread's results of a task that keeps the largest alone, and what it knows of every row.
constexpr std::size_t peaks_values_bytes(std::size_t num_rows) {
  return std::min(num_rows, kRowBlock) * kMaxTiles * kTileRows * sizeof(float);
}
constexpr std::size_t peaks_scratch_bytes(std::size_t num_rows) {
  return peaks_values_bytes(num_rows) + num_rows * sizeof(LanePeaks);
}

// What a thread saw of each of so many rows; before it lie the values of its task.
inline LanePeaks* peaks_in(const AlignedBuffer& scratch, std::size_t num_rows) {
  return reinterpret_cast<LanePeaks*>(scratch.data() + peaks_values_bytes(num_rows));
}

// What screening knows of each tile of a head, what each thread found of each row, and which tiles are left.
constexpr std::size_t screening_bytes(std::size_t num_rows, std::size_t num_tiles, std::size_t num_threads) {
  return num_rows * num_tiles * sizeof(float) + num_tiles * sizeof(std::uint32_t) +
         num_threads * num_rows * sizeof(SureTile);
}
struct ScreeningScratch {
  float* ceilings;            // [num_rows][num_tiles]
  std::uint32_t* tiles_left;  // [num_tiles]
  SureTile* sure_tiles;       // [num_threads][num_rows]

  ScreeningScratch(std::byte* data, std::size_t num_rows, std::size_t num_tiles)
      : ceilings(reinterpret_cast<float*>(data)),
        tiles_left(reinterpret_cast<std::uint32_t*>(ceilings + num_rows * num_tiles)),
        sure_tiles(reinterpret_cast<SureTile*>(tiles_left + num_tiles)) {}
};

// Rows of a tile of the tile unit.
inline constexpr std::size_t kTileUnitRows = 16;
// Activation rows that stay in the second-level cache while pairs of slabs go by.
inline constexpr std::size_t kTileRowBlock = 512;
inline constexpr std::size_t kSumsOfSlab = kTileRowBlock * kTileRows;

// From one k tile of activation rows to the next: the loads of neighbouring k tiles should not fall on the same cache
// sets, so an odd number of 1 KiB tiles lies between them. A product's last tile may begin at the last row.
constexpr std::size_t padded_tile_rows(std::size_t num_rows) {
  const std::size_t num_tiles = (num_rows + 2 * (kTileUnitRows - 1)) / kTileUnitRows;
  return (num_tiles | 1U) * kTileUnitRows;
}

// Activation rows in bf16, as the tile unit reads them.
constexpr std::size_t tile_rows_bytes(std::size_t num_rows, std::size_t k) {
  return num_rows == 0 ? 0 : num_k_tiles(k) * padded_tile_rows(num_rows) * kTileK * sizeof(std::uint16_t);
}

// A thread's sums and its two slabs in bf16.
constexpr std::size_t tile_scratch_bytes(std::size_t k) {
  return (2 * kSumsOfSlab + num_k_tiles(k) * kTileK * kTileRows) * sizeof(float);
}

// What an attention task keeps.
struct AttentionTaskSize {
  std::size_t tile_rows;    // rows of one sequence: as many as fill whole passes of the kernel with their heads
  std::size_t score_bytes;  // of a pass
  std::size_t part_bytes;   // records of a tile's queries, for each part of the positions that it sees
};
constexpr AttentionTaskSize attention_task_size(const KernelTable& kernels, std::size_t heads_per_kv_head,
                                                std::size_t head_dim) {
  const std::size_t queries = kernels.attention_queries;
  const std::size_t tile_rows = queries / std::gcd(queries, heads_per_kv_head);
  return {tile_rows, queries * kAttentionPart * sizeof(float),
          tile_rows * heads_per_kv_head * attention_record(head_dim) * sizeof(float)};
}

// Attention of prompt rows by matrix products. Elements are bf16 for a unit of the processor, floats without one.
struct TileAttentionSize {
  std::size_t tile_rows;      // rows of one sequence in a task: with their heads they fill a few tiles
  std::size_t queries;        // of a task
  std::size_t tile_bytes;     // 32 inputs of 16 outputs
  std::size_t key_bytes;      // slabs of one KV head's keys in one part, one slab for each block of 16 positions
  std::size_t value_bytes;    // and of its values, one for every 16 channels
  std::size_t block_bytes;    // a thread's: a block of the cache in float
  std::size_t query_bytes;    // a task's queries
  std::size_t weight_bytes;   // their weights for the positions of a part
  std::size_t product_bytes;  // the same in float
  std::size_t sums_bytes;
  std::size_t record_bytes;  // their records, for each part

  constexpr std::size_t slab_bytes() const { return key_bytes + value_bytes; }
  constexpr std::size_t thread_bytes(std::size_t num_parts) const {
    return block_bytes + query_bytes + weight_bytes + product_bytes + sums_bytes + num_parts * record_bytes;
  }
};
constexpr TileAttentionSize tile_attention_size(bool has_unit, std::size_t heads_per_kv_head, std::size_t head_dim) {
  constexpr std::size_t kQueries = 64;
  const std::size_t rows = heads_per_kv_head < kQueries ? kQueries / heads_per_kv_head : 1;
  const std::size_t queries = rows * heads_per_kv_head;
  const std::size_t tile_bytes = kTileHalves * (has_unit ? sizeof(std::uint16_t) : sizeof(float));
  const auto rows_bytes = [&](std::size_t k) {
    return has_unit ? tile_rows_bytes(queries, k) : float_rows_bytes(queries, num_k_tiles(k) * kTileK);
  };
  return {.tile_rows = rows,
          .queries = queries,
          .tile_bytes = tile_bytes,
          .key_bytes = kAttentionPart / kTileRows * num_k_tiles(head_dim) * tile_bytes,
          .value_bytes = head_dim / kTileRows * num_k_tiles(kAttentionPart) * tile_bytes,
          .block_bytes = kTileRows * head_dim * sizeof(float),
          .query_bytes = rows_bytes(head_dim),
          .weight_bytes = rows_bytes(kAttentionPart),
          .product_bytes = queries * kAttentionPart * sizeof(float),
          .sums_bytes = (queries + kTileUnitRows - 1) / kTileUnitRows * 2 * kTileUnitRows * kTileRows * sizeof(float),
          .record_bytes = queries * attention_record(head_dim) * sizeof(float)};
}

// So few tasks that their parts are shared out as well, into records that all threads see.
constexpr bool shares_parts(std::size_t num_tasks, std::size_t num_parts, std::size_t num_threads) {
  return num_parts > 1 && num_tasks < 4 * num_threads;
}

}  // namespace vitrine::backends::cpu
