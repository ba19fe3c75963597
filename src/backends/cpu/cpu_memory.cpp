#include "backends/cpu/cpu_memory.h"

#include <algorithm>

#include "backends/cpu/scratch.h"
#include "backends/cpu/weight_memory.h"
#include "base/checked.h"

namespace vitrine::backends::cpu {
namespace {

// The largest buffers that rows of one numeric path need, each grown by whatever operation needs most of it.
struct PathRowsSize {
  QuantizedRowsSize quantized{0, 0};
  std::size_t floats_bytes = 0;

  void add_quantized(std::size_t num_rows, std::size_t k) {
    const QuantizedRowsSize size = quantized_rows_size(num_rows, k);
    quantized.codes_bytes = std::max(quantized.codes_bytes, size.codes_bytes);
    quantized.factors_bytes = std::max(quantized.factors_bytes, size.factors_bytes);
  }
  void add_floats(std::size_t num_rows, std::size_t k) {
    floats_bytes = std::max(floats_bytes, float_rows_bytes(num_rows, k));
  }
  std::size_t total() const { return quantized.total() + floats_bytes; }
};

// The head is loaded last. Only rows whose logits are wanted come to it; every row comes to a router, which is kHead
// too.
bool is_head(const ops::MatrixSize& matrix, const ops::MatrixSize& last) {
  return matrix.use == ops::MatrixUse::kHead && &matrix == &last;
}

// Positions that a tile of an attention sees, in parts.
std::size_t max_parts(const ops::StepSize& step, std::size_t tile_rows) {
  const std::size_t all = base::ceil_div(step.context_length, kAttentionPart);
  if (step.window == 0) return all;
  return std::min(all, (step.window + tile_rows - 2) / kAttentionPart + 2);
}

}  // namespace

PackedKind CpuMemory::kind_of(const ops::MatrixSize& matrix) const {
  return PackedMatrix::kind_of(
      matrix, {.as_float32 = paths_.generated == NumericPath::kReference, .screening = HeadScreening::kWhereItPays});
}

std::size_t CpuMemory::packed_bytes(const ops::MatrixSize& matrix) const {
  return PackedMatrix::packed_bytes(kind_of(matrix), matrix.type, matrix.out_features, matrix.in_features);
}

bool CpuMemory::keeps_source(tensor::DType type) const {
  return paths_.generated != NumericPath::kReference && PackedMatrix::kind_of(type) == PackedKind::kRaw;
}

std::size_t CpuMemory::matrix_bytes(const ops::MatrixSize& matrix) const {
  if (!keeps_source(matrix.type)) return packed_bytes(matrix);
  return matrix.out_features * tensor::dtype_bytes(matrix.type, matrix.in_features).value_or(0);
}

std::size_t CpuMemory::read_bytes(const ops::MatrixSize& matrix) const {
  return matrix_bytes(matrix) - PackedMatrix::unread_bytes(kind_of(matrix), matrix.out_features, matrix.in_features);
}

std::size_t CpuMemory::padding_bytes(std::span<const ops::MatrixSize> matrices) const {
  WeightPlacement placement;
  std::size_t sum = 0;
  for (const ops::MatrixSize& matrix : matrices) {
    if (keeps_source(matrix.type)) continue;
    const std::size_t bytes = packed_bytes(matrix);
    placement.add(bytes);
    sum += bytes;
  }
  return placement.resident_bytes() - sum;
}

std::size_t CpuMemory::scratch_bytes(std::span<const ops::MatrixSize> matrices, const ops::StepSize& step) const {
  PathRowsSize latency;
  PathRowsSize throughput;
  std::size_t slab = 0;
  std::size_t tile_rows = 0;
  std::size_t screening = 0;
  const bool prompt_is_throughput = paths_.prompt == NumericPath::kThroughput;
  const std::size_t all_rows = step.num_prompt_rows + step.num_sequences;
  for (const ops::MatrixSize& matrix : matrices) {
    const bool takes_throughput = prompt_is_throughput && matrix.use != ops::MatrixUse::kHead;
    const std::size_t k = matrix.in_features;
    const std::size_t copies = matrix.use == ops::MatrixUse::kExpert ? step.num_chosen : 1;
    std::size_t latency_rows = copies * (takes_throughput ? step.num_sequences : all_rows);
    if (is_head(matrix, matrices.back())) latency_rows = step.num_sequences;
    const PackedKind kind = kind_of(matrix);
    if (kernels_.int8_tile[static_cast<std::size_t>(kind)] != nullptr) {
      latency.add_quantized(latency_rows, k);
    } else {
      latency.add_floats(latency_rows, k);
    }
    const bool takes_tiles = takes_throughput && kernels_.tile_unit != nullptr;
    if (takes_tiles) {
      tile_rows = std::max(tile_rows, tile_rows_bytes(copies * step.num_prompt_rows, k));
      slab = std::max(slab, tile_scratch_bytes(k));
    } else if (takes_throughput) {
      throughput.add_floats(copies * step.num_prompt_rows, k);
    }
    if (is_head(matrix, matrices.back()) && kind != PackedKind::kRaw)
      slab = std::max(slab, peaks_scratch_bytes(step.num_sequences));
    if (kind == PackedKind::kSplitQ8_0) {
      const std::size_t num_rows = std::min(step.num_sequences, kMaxScreenedRows);
      screening = screening_bytes(num_rows, base::ceil_div(matrix.out_features, kTileRows), num_threads_);
    }
    const bool is_looked_up = step.looks_up_head && is_head(matrix, matrices.back());
    if ((takes_throughput && !takes_tiles) || is_looked_up || kind == PackedKind::kRaw)
      slab = std::max(slab, slab_bytes(k));
  }
  return latency.total() + throughput.total() + tile_rows + screening + attention_scratch(step, slab);
}

std::size_t CpuMemory::attention_scratch(const ops::StepSize& step, std::size_t slab) const {
  const std::size_t group = step.num_heads / step.num_kv_heads;
  const AttentionTaskSize size = attention_task_size(kernels_, group, step.head_dim);
  const std::size_t num_parts = max_parts(step, size.tile_rows);
  const bool has_prompts = !paths_.prompts_attend_by_products();  // among the rows that this reckons with
  // With as many tiles as are just too few for the threads.
  const std::size_t max_tiles = (has_prompts ? step.num_prompt_rows / size.tile_rows : 0) + step.num_sequences;
  std::size_t num_tiles = std::min((4 * num_threads_ - 1) / step.num_kv_heads, max_tiles);
  if (!shares_parts(num_tiles * step.num_kv_heads, num_parts, num_threads_)) num_tiles = 0;
  const std::size_t shared = num_tiles * step.num_kv_heads * num_parts * size.part_bytes;
  const bool has_whole_tasks = !shares_parts(max_tiles * step.num_kv_heads, num_parts, num_threads_);
  std::size_t own = size.score_bytes + (has_whole_tasks ? num_parts * size.part_bytes : 0);
  std::size_t slabs = 0;
  if (!has_prompts && step.num_prompt_rows > 0) {
    const TileAttentionSize prompts =
        tile_attention_size(unit_of(kernels_, paths_.prompt_attention()) != nullptr, group, step.head_dim);
    slabs = step.num_kv_heads * max_parts(step, step.num_prompt_rows) * prompts.slab_bytes();
    own = std::max(own, prompts.thread_bytes(max_parts(step, prompts.tile_rows)));
  }
  return shared + slabs + num_threads_ * std::max(slab, own);
}

}  // namespace vitrine::backends::cpu
