// Matrix products of CpuBackend: rows are sorted by numeric path (and by expert, where a mixture chooses), brought into
// the form that the path reads, and multiplied tile by tile. Threads split the tiles of all matrices of an operation,
// so no sum is ever cut and an expert with few rows keeps nobody waiting.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/scratch.h"

namespace vitrine::backends::cpu {
namespace {

// From so many rows on two tiles side by side are worth more than an even split over the threads.
constexpr std::size_t kMinPairRows = 8;
// From so many rows on a pair of tiles is work enough to be taken by itself, and threads end together. Fewer rows wait
// for weights, which come faster in long runs.
constexpr std::size_t kMinPiecewiseRows = 64;
// Bytes of weights that a thread takes at a time.
constexpr std::size_t kCacheChunkBytes = 64 * 1024;

}  // namespace

NumericPath CpuBackend::path_of(ops::Role role, ops::MatrixUse use) const {
  const bool is_prompt_path = use != ops::MatrixUse::kHead && role == ops::Role::kPrompt;
  return is_prompt_path ? options_.paths.prompt : options_.paths.generated;
}

CpuBackend::PathRows& CpuBackend::rows_of(ops::Role role, ops::MatrixUse use) {
  return path_of(role, use) == NumericPath::kThroughput ? throughput_rows_ : latency_rows_;
}

std::string CpuBackend::kernel_name(const ops::Matrix& matrix, ops::Role role) const {
  const PackedMatrix& weight = packed(matrix);
  const bool is_throughput = path_of(role, weight.use()) == NumericPath::kThroughput;
  const bool is_int8 = kernels_.int8_tile[static_cast<std::size_t>(weight.kind())] != nullptr;
  const std::string_view how = is_throughput ? (kernels_.tile_unit != nullptr ? "as bf16 on tiles" : "as bf16")
                               : is_int8     ? "times int8"
                                             : "in float32";
  return fmt::format("{} {}, {}", tensor::dtype_info(weight.type()).name, how, isa_name(options_.isa));
}

std::string CpuBackend::attention_name(tensor::DType type, ops::Role role) const {
  const NumericPath path = role == ops::Role::kPrompt ? options_.paths.prompt_attention() : options_.paths.generated;
  const bool has_unit = unit_of(kernels_, path) != nullptr;
  const std::string_view how = path == NumericPath::kThroughput ? (has_unit ? "as bf16 on tiles" : "as bf16")
                               : path == NumericPath::kPairs    ? "as bf16 in pairs"
                                                                : "in float32";
  return fmt::format("{} cache {}, {}", tensor::dtype_info(type).name, how, isa_name(options_.isa));
}

void CpuBackend::split_rows(std::span<const ops::Role> roles, ops::MatrixUse use) {
  for (PathRows* rows : {&latency_rows_, &throughput_rows_}) {
    rows->input_row.clear();
    rows->output_row.clear();
  }
  for (std::size_t row_idx = 0; row_idx < roles.size(); ++row_idx) {
    PathRows& rows = rows_of(roles[row_idx], use);
    rows.input_row.push_back(row_idx);
    rows.output_row.push_back(row_idx);
  }
}

template <typename Quantize>
void CpuBackend::quantize_each(std::size_t k, PathRows& rows, Quantize quantize) {
  const std::size_t num_rows = rows.input_row.size();
  const QuantizedRowsSize size = quantized_rows_size(num_rows, k);
  rows.codes.ensure(size.codes_bytes);
  rows.factors.ensure(size.factors_bytes);
  pool_.for_range(num_rows, 4, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      quantize(rows.input_row[i], rows.codes.as<std::int8_t>() + i * k,
               rows.factors.as<GroupFactors>() + i * (k / kActivationGroup));
    }
  });
}

void CpuBackend::quantize_rows(ops::Rows x, PathRows& rows) {
  quantize_each(x.width, rows, [&](std::size_t row_idx, std::int8_t* codes, GroupFactors* factors) {
    kernels_.quantize_row(x.row(row_idx), x.width, codes, factors);
  });
}

void CpuBackend::gather_rows(ops::Rows x, bool round_to_bf16, PathRows& rows) {
  rows.floats.ensure(float_rows_bytes(rows.input_row.size(), x.width));
  for (std::size_t i = 0; i < rows.input_row.size(); ++i) {
    float* row = rows.floats.as<float>() + i * x.width;
    std::copy_n(x.row(rows.input_row[i]), x.width, row);
    if (round_to_bf16) kernels_.round_to_bf16(row, x.width);
  }
}

void CpuBackend::prepare_rows(ops::Rows x, PathRows& rows) {
  if (uses_tile_unit(rows)) return pack_tile_rows(x, rows);
  if (rows.throughput) return gather_rows(x, true, rows);
  const auto has_int8 = [&](const Product& product) {
    return kernels_.int8_tile[static_cast<std::size_t>(product.matrix->kind())] != nullptr;
  };
  if (std::ranges::any_of(products_, has_int8)) quantize_rows(x, rows);
  if (!std::ranges::all_of(products_, has_int8)) gather_rows(x, false, rows);
}

const float* CpuBackend::decode_slab(const PackedMatrix& matrix, std::size_t tile_idx, bool throughput,
                                     AlignedBuffer& buffer) const {
  buffer.ensure(slab_bytes(matrix.in_features()));
  auto* values = buffer.as<float>();
  const auto unpack = kernels_.unpack_tile[static_cast<std::size_t>(matrix.kind())];
  if (unpack != nullptr) {
    unpack(matrix.tile(tile_idx), matrix.in_features(), values);
  } else {
    matrix.decode_source_tile(tile_idx, values);
  }
  if (throughput) kernels_.round_to_bf16(values, matrix.in_features() * kTileRows);
  return values;
}

void CpuBackend::multiply_tile(const PathRows& rows, const TileTask& task) const {
  std::array<float*, kRowBlock> out;
  const std::size_t lanes = task.product->matrix->lanes(task.tile_idx + task.num_tiles - 1);
  if (!task.product->keeps_peaks) {
    for (std::size_t i = 0; i < task.num_rows; ++i)
      out[i] = task.product->out.row(rows.output_row[task.first_row + i]) + task.tile_idx * kTileRows;
    return run_tile_kernel(rows, task, out.data(), lanes);
  }
  auto* values = task.scratch->as<float>();
  for (std::size_t i = 0; i < task.num_rows; ++i) {
    out[i] = values + i * kMaxTiles * kTileRows;
    float* last_tile = out[i] + (task.num_tiles - 1) * kTileRows;
    std::fill(last_tile + lanes, last_tile + kTileRows, -std::numeric_limits<float>::infinity());
  }
  run_tile_kernel(rows, task, out.data(), lanes);
  kernels_.note_peaks(values, task.num_rows, task.num_tiles, static_cast<std::int32_t>(task.tile_idx),
                      peaks_in(*task.scratch, task.product->num_rows) + task.first_row);
}

void CpuBackend::run_tile_kernel(const PathRows& rows, const TileTask& task, float* const* out,
                                 std::size_t lanes) const {
  const PackedMatrix& matrix = *task.product->matrix;
  const std::size_t k = matrix.in_features();
  const auto kind = static_cast<std::size_t>(matrix.kind());
  if (!rows.throughput && kernels_.int8_tile[kind] != nullptr) {
    const QuantizedRows quantized{rows.codes.as<std::int8_t>() + task.first_row * k,
                                  rows.factors.as<GroupFactors>() + task.first_row * (k / kActivationGroup)};
    kernels_.int8_tile[kind]({matrix.tile(task.tile_idx), matrix.tile_bytes(), task.num_tiles}, quantized,
                             task.num_rows, k, out, lanes);
    return;
  }
  const float* inputs = rows.floats.as<float>() + task.first_row * k;
  const auto float_kind = task.slab != nullptr ? static_cast<std::size_t>(PackedKind::kF32) : kind;
  const auto kernel = rows.throughput ? kernels_.throughput_tile : kernels_.float_tile[float_kind];
  const void* tile = task.slab != nullptr ? static_cast<const void*>(task.slab) : matrix.tile(task.tile_idx);
  kernel(tile, inputs, task.num_rows, k, out, lanes);
}

// Tiles are counted through all products.
void CpuBackend::multiply_tiles(const PathRows& rows, AlignedBuffer& scratch, std::size_t begin,
                                std::size_t end) const {
  auto product = std::ranges::upper_bound(products_, begin, {}, &Product::end_tile);
  std::size_t num_tiles = 1;
  for (std::size_t tile = begin; tile < end; tile += num_tiles) {
    if (tile == product->end_tile) ++product;
    const PackedMatrix& matrix = *product->matrix;
    const std::size_t tile_idx = matrix.num_tiles() - (product->end_tile - tile);
    const bool is_int8 = !rows.throughput && kernels_.int8_tile[static_cast<std::size_t>(matrix.kind())] != nullptr;
    num_tiles = is_int8 ? std::min(kMaxTiles, std::min(end, product->end_tile) - tile) : 1;
    const bool needs_slab = rows.throughput || matrix.kind() == PackedKind::kRaw;
    const float* values = needs_slab ? decode_slab(matrix, tile_idx, rows.throughput, scratch) : nullptr;
    for (std::size_t done = 0; done < product->num_rows; done += kRowBlock) {
      multiply_tile(rows, {&*product, tile_idx, num_tiles, values, product->first_row + done,
                           std::min(kRowBlock, product->num_rows - done), &scratch});
    }
  }
}

void CpuBackend::add_product(const ops::Matrix& matrix, ops::Rows out, std::size_t first_row, std::size_t num_rows) {
  if (num_rows == 0) return;
  const std::size_t tiles_before = products_.empty() ? 0 : products_.back().end_tile;
  products_.push_back({.matrix = &packed(matrix),
                       .out = out,
                       .first_row = first_row,
                       .num_rows = num_rows,
                       .end_tile = tiles_before + packed(matrix).num_tiles()});
}

// Works off `products_`.
void CpuBackend::multiply(ops::Rows x, PathRows& rows) {
  if (products_.empty()) return;
  prepare_rows(x, rows);
  multiply_prepared(rows);
}

void CpuBackend::multiply_prepared(const PathRows& rows) {
  if (products_.empty()) return;
  const std::size_t num_tiles = products_.back().end_tile;
  std::size_t num_bytes = 1;
  for (const Product& product : products_)
    num_bytes += product.matrix->size_bytes();
  const std::size_t for_cache = std::max<std::size_t>(1, kCacheChunkBytes * num_tiles / num_bytes);
  const std::size_t for_balance = std::max<std::size_t>(1, num_tiles / (4 * pool_.num_threads()));
  std::size_t grain = rows.input_row.size() >= kMinPiecewiseRows ? kMaxTiles : std::min(for_cache, for_balance);
  if (grain > 1 || rows.input_row.size() >= kMinPairRows) grain += grain % 2;  // tiles are taken in pairs
  pool_.for_range(num_tiles, grain, [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
    if (uses_tile_unit(rows)) return multiply_on_tile_unit(rows, thread_scratch_[thread_idx], begin, end);
    multiply_tiles(rows, thread_scratch_[thread_idx], begin, end);
  });
}

void CpuBackend::do_matmul(ops::Rows x, std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs) {
  split_rows(roles, packed(*outputs.front().matrix).use());
  for (PathRows* rows : {&latency_rows_, &throughput_rows_}) {
    add_products(outputs, rows->input_row.size());
    multiply(x, *rows);
  }
}

void CpuBackend::add_products(std::span<const ops::MatmulOutput> outputs, std::size_t num_rows) {
  products_.clear();
  for (const ops::MatmulOutput& output : outputs)
    add_product(*output.matrix, output.out, 0, num_rows);
}

// Whether rows are read as int8 codes alone, so that what they are made of needs no memory.
bool CpuBackend::quantizes_all(std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs) const {
  const ops::MatrixUse use = packed(*outputs.front().matrix).use();
  return std::ranges::all_of(roles, [&](ops::Role role) { return path_of(role, use) == NumericPath::kLatency; }) &&
         std::ranges::all_of(outputs, [&](const ops::MatmulOutput& output) {
           return kernels_.int8_tile[static_cast<std::size_t>(packed(*output.matrix).kind())] != nullptr;
         });
}

template <typename Quantize>
void CpuBackend::multiply_quantized(std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs,
                                    Quantize quantize) {
  const PackedMatrix& first = packed(*outputs.front().matrix);
  split_rows(roles, first.use());
  quantize_each(first.in_features(), latency_rows_, quantize);
  add_products(outputs, roles.size());
  multiply_prepared(latency_rows_);
}

void CpuBackend::do_matmul_normed(const ops::NormedRows& x, ops::Rows between, std::span<const ops::Role> roles,
                                  std::span<const ops::MatmulOutput> outputs) {
  if (!quantizes_all(roles, outputs)) return Backend::do_matmul_normed(x, between, roles, outputs);
  multiply_quantized(roles, outputs, [&](std::size_t row_idx, std::int8_t* codes, GroupFactors* factors) {
    kernels_.quantize_normed_row(x.x.row(row_idx), x.weight.data(), x.eps, x.x.width, codes, factors);
  });
}

void CpuBackend::do_matmul_gated(const ops::GatedRows& x, std::span<const ops::Role> roles,
                                 std::span<const ops::MatmulOutput> outputs) {
  if (!quantizes_all(roles, outputs)) return Backend::do_matmul_gated(x, roles, outputs);
  const auto quantize =
      x.activation == ops::Activation::kSilu ? kernels_.quantize_silu_row : kernels_.quantize_gelu_tanh_row;
  multiply_quantized(roles, outputs, [&](std::size_t row_idx, std::int8_t* codes, GroupFactors* factors) {
    quantize(x.gate.row(row_idx), x.up.row(row_idx), x.gate.width, codes, factors);
  });
}

void CpuBackend::do_expert_matmul(ops::Rows x, std::span<const ops::Role> roles, const ops::ExpertChoices& choices,
                                  std::span<const ops::ExpertOutput> outputs) {
  group_by_expert(choices);
  const bool input_per_choice = x.num_rows == choices.num_choices();
  const ops::MatrixUse use = packed(*outputs.front().experts.front()).use();
  for (PathRows* rows : {&latency_rows_, &throughput_rows_}) {
    products_.clear();
    rows->input_row.clear();
    rows->output_row.clear();
    for (std::size_t expert = 0; expert < choices.num_experts; ++expert) {
      const std::size_t first_row = rows->output_row.size();
      for (const std::size_t choice : choosers_[expert]) {
        const std::size_t row_idx = choice / choices.num_chosen;
        if (&rows_of(roles[row_idx], use) != rows) continue;
        rows->input_row.push_back(input_per_choice ? choice : row_idx);
        rows->output_row.push_back(choice);
      }
      for (const ops::ExpertOutput& output : outputs)
        add_product(*output.experts[expert], output.out, first_row, rows->output_row.size() - first_row);
    }
    multiply(x, *rows);
  }
}

void CpuBackend::group_by_expert(const ops::ExpertChoices& choices) {
  choosers_.resize(std::max(choosers_.size(), choices.num_experts));
  for (std::vector<std::size_t>& choosers : choosers_)
    choosers.clear();
  for (std::size_t choice = 0; choice < choices.num_choices(); ++choice)
    choosers_[choices.experts[choice]].push_back(choice);
}

void CpuBackend::do_combine_experts(ops::Rows x, const ops::ExpertChoices& choices, ops::Rows out) {
  const std::size_t num_chosen = choices.num_chosen;
  pool_.for_range(out.num_rows, 8, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row_idx = begin; row_idx < end; ++row_idx) {
      float* sum = out.row(row_idx);
      std::fill_n(sum, out.width, 0.0F);
      for (std::size_t choice = row_idx * num_chosen; choice < (row_idx + 1) * num_chosen; ++choice) {
        const float weight = choices.weights[choice];
        const float* answer = x.row(choice);
        for (std::size_t i = 0; i < out.width; ++i)
          sum[i] += weight * answer[i];
      }
    }
  });
}

}  // namespace vitrine::backends::cpu
