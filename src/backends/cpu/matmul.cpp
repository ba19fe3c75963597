// Matrix products of CpuBackend: rows are sorted by numeric path, brought into the form that the path reads, and
// multiplied tile by tile. Threads split tiles, so no sum is ever cut.
#include <algorithm>
#include <array>

#include "backends/cpu/cpu_backend.h"

namespace vitrine::backends::cpu {
namespace {

// Rows that stay in the second-level cache while a run of tiles is multiplied with them.
constexpr std::size_t kRowBlock = 128;
// Bytes of weights that a thread takes at a time.
constexpr std::size_t kChunkBytes = 64 * 1024;

const PackedMatrix& packed(const ops::MatmulOutput& output) {
  return static_cast<const PackedMatrix&>(*output.matrix);
}

// Tiles of several matrices, counted through.
struct TilePlace {
  const ops::MatmulOutput* output;
  std::size_t tile_idx;
};
TilePlace place_of(std::span<const ops::MatmulOutput> outputs, std::size_t tile) {
  for (const ops::MatmulOutput& output : outputs) {
    if (tile < packed(output).num_tiles()) return {&output, tile};
    tile -= packed(output).num_tiles();
  }
  return {nullptr, 0};
}

}  // namespace

void CpuBackend::split_rows(std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs) {
  latency_rows_.row_idx.clear();
  throughput_rows_.row_idx.clear();
  const bool is_head = packed(outputs.front()).use() == ops::MatrixUse::kHead;
  for (std::size_t row_idx = 0; row_idx < roles.size(); ++row_idx) {
    const bool prompt_path = !is_head && roles[row_idx] == ops::Role::kPrompt;
    const NumericPath path = prompt_path ? options_.paths.prompt : options_.paths.generated;
    (path == NumericPath::kThroughput ? throughput_rows_ : latency_rows_).row_idx.push_back(row_idx);
  }
}

void CpuBackend::quantize_rows(ops::Rows x, PathRows& rows) {
  const std::size_t k = x.width;
  const std::size_t num_rows = rows.row_idx.size();
  rows.codes.ensure(num_rows * k);
  rows.scales.ensure(num_rows * (k / kActivationGroup) * sizeof(float));
  rows.sums.ensure(num_rows * (k / 16) * sizeof(std::int32_t));
  pool_.for_range(num_rows, 4, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      kernels_.quantize_row(x.row(rows.row_idx[i]), k, rows.codes.as<std::int8_t>() + i * k,
                            rows.scales.as<float>() + i * (k / kActivationGroup),
                            rows.sums.as<std::int32_t>() + i * (k / 16));
    }
  });
}

void CpuBackend::gather_rows(ops::Rows x, bool round_to_bf16, PathRows& rows) {
  rows.floats.ensure(rows.row_idx.size() * x.width * sizeof(float));
  for (std::size_t i = 0; i < rows.row_idx.size(); ++i) {
    float* row = rows.floats.as<float>() + i * x.width;
    std::copy_n(x.row(rows.row_idx[i]), x.width, row);
    if (round_to_bf16) kernels_.round_to_bf16(row, x.width);
  }
}

void CpuBackend::prepare_rows(ops::Rows x, std::span<const ops::MatmulOutput> outputs) {
  const auto has_int8 = [&](const ops::MatmulOutput& output) {
    return kernels_.int8_tile[static_cast<std::size_t>(packed(output).kind())] != nullptr;
  };
  if (!latency_rows_.row_idx.empty()) {
    if (std::ranges::any_of(outputs, has_int8)) quantize_rows(x, latency_rows_);
    if (!std::ranges::all_of(outputs, has_int8)) gather_rows(x, false, latency_rows_);
  }
  if (!throughput_rows_.row_idx.empty()) gather_rows(x, true, throughput_rows_);
}

const float* CpuBackend::decode_slab(const PackedMatrix& matrix, std::size_t tile_idx, bool throughput,
                                     AlignedBuffer& buffer) const {
  const std::size_t size = matrix.in_features() * kTileRows;
  buffer.ensure(size * sizeof(float));
  auto* values = buffer.as<float>();
  const auto unpack = kernels_.unpack_tile[static_cast<std::size_t>(matrix.kind())];
  if (unpack != nullptr) {
    unpack(matrix.tile(tile_idx), matrix.in_features(), values);
  } else {
    matrix.decode_source_tile(tile_idx, values);
  }
  if (throughput) kernels_.round_to_bf16(values, size);
  return values;
}

void CpuBackend::multiply_tile(const PathRows& rows, bool throughput, const TileTask& task) const {
  const PackedMatrix& matrix = packed(*task.output);
  const std::size_t k = matrix.in_features();
  const auto kind = static_cast<std::size_t>(matrix.kind());
  std::array<float*, kRowBlock> out;
  for (std::size_t i = 0; i < task.num_rows; ++i) {
    out[i] = task.output->out.row(rows.row_idx[task.first_row + i]) + task.tile_idx * kTileRows;
  }
  const std::size_t lanes = matrix.lanes(task.tile_idx);
  if (!throughput && kernels_.int8_tile[kind] != nullptr) {
    const QuantizedRows quantized{rows.codes.as<std::int8_t>() + task.first_row * k,
                                  rows.scales.as<float>() + task.first_row * (k / kActivationGroup),
                                  rows.sums.as<std::int32_t>() + task.first_row * (k / 16)};
    kernels_.int8_tile[kind](matrix.tile(task.tile_idx), quantized, task.num_rows, k, out.data(), lanes);
    return;
  }
  const float* inputs = rows.floats.as<float>() + task.first_row * k;
  const auto float_kind = task.slab != nullptr ? static_cast<std::size_t>(PackedKind::kF32) : kind;
  const auto kernel = throughput ? kernels_.throughput_tile : kernels_.float_tile[float_kind];
  const void* tile = task.slab != nullptr ? static_cast<const void*>(task.slab) : matrix.tile(task.tile_idx);
  kernel(tile, inputs, task.num_rows, k, out.data(), lanes);
}

void CpuBackend::multiply(const PathRows& rows, bool throughput, std::span<const ops::MatmulOutput> outputs) {
  const std::size_t num_rows = rows.row_idx.size();
  if (num_rows == 0) return;
  std::size_t num_tiles = 0;
  std::size_t num_bytes = 0;
  for (const ops::MatmulOutput& output : outputs) {
    num_tiles += packed(output).num_tiles();
    num_bytes += packed(output).num_tiles() * packed(output).tile_bytes();
  }
  const std::size_t for_cache = std::max<std::size_t>(1, kChunkBytes * num_tiles / std::max<std::size_t>(num_bytes, 1));
  const std::size_t for_balance = std::max<std::size_t>(1, num_tiles / (4 * pool_.num_threads()));
  const auto needs_slab = [&](const PackedMatrix& matrix) { return throughput || matrix.kind() == PackedKind::kRaw; };
  pool_.for_range(
      num_tiles, std::min(for_cache, for_balance), [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
        for (std::size_t tile = begin; tile < end; ++tile) {
          const auto [output, tile_idx] = place_of(outputs, tile);
          const PackedMatrix& matrix = packed(*output);
          const float* slab =
              needs_slab(matrix) ? decode_slab(matrix, tile_idx, throughput, thread_scratch_[thread_idx]) : nullptr;
          for (std::size_t first_row = 0; first_row < num_rows; first_row += kRowBlock) {
            multiply_tile(rows, throughput,
                          {output, tile_idx, slab, first_row, std::min(kRowBlock, num_rows - first_row)});
          }
        }
      });
}

void CpuBackend::do_matmul(ops::Rows x, std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs) {
  split_rows(roles, outputs);
  prepare_rows(x, outputs);
  multiply(latency_rows_, false, outputs);
  multiply(throughput_rows_, true, outputs);
}

}  // namespace vitrine::backends::cpu
