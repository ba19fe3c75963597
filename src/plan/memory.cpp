#include "plan/memory.h"

#include <algorithm>

#include "base/checked.h"
#include "base/page_buffer.h"
#include "kvcache/block_id.h"
#include "models/layers/step.h"
#include "plan/process.h"

namespace vitrine::plan {
namespace {

// More sequences or tokens than any machine holds.
constexpr std::size_t kMostSequences = std::size_t{1} << 20U;

bool is_same(const ops::MatrixSize& a, const ops::MatrixSize& b) {
  return a.type == b.type && a.in_features == b.in_features && a.use == b.use;
}

// Scratch depends on types, widths and uses alone; a large mixture has tens of thousands of equal matrices.
std::vector<ops::MatrixSize> different(const std::vector<ops::MatrixSize>& matrices) {
  std::vector<ops::MatrixSize> kept;
  for (std::size_t i = 0; i + 1 < matrices.size(); ++i) {
    const bool is_new = std::ranges::none_of(kept, [&](const auto& other) { return is_same(other, matrices[i]); });
    if (is_new) kept.push_back(matrices[i]);
  }
  if (!matrices.empty()) kept.push_back(matrices.back());  // the head
  return kept;
}

std::size_t all_layers_window(const KvLayout& kv) {
  return kv.num_window_layers == kv.num_layers ? kv.window : 0;
}

// The cache lies in huge pages, of which the last one is not full.
std::size_t page_padding(std::size_t size_bytes) {
  constexpr std::size_t kPage = base::PageBuffer::kHugePageBytes;
  return base::ceil_div(size_bytes, kPage) * kPage - size_bytes;
}

}  // namespace

std::size_t max_prompt_rows(std::size_t max_chunk_tokens, std::size_t context_length, std::size_t num_sequences) {
  const auto num_tokens = base::checked_mul(context_length, num_sequences);
  return num_tokens ? std::min(max_chunk_tokens, *num_tokens) : max_chunk_tokens;
}

std::size_t largest_that_fits(std::size_t limit, const std::function<bool(std::size_t)>& fits) {
  std::size_t below = 0;
  std::size_t above = limit + 1;
  while (above - below > 1) {
    const std::size_t middle = below + (above - below) / 2;
    (fits(middle) ? below : above) = middle;
  }
  return below;
}

base::Result<MemoryForecast> MemoryForecast::create(const Network& network, const ops::MemoryModel& backend,
                                                    const RunSizes& sizes) {
  const auto row_bytes = kv_row_bytes(network.kv, sizes.kv_type);
  if (!row_bytes) return row_bytes.error();
  return MemoryForecast(network, backend, sizes, *row_bytes);
}

MemoryForecast::MemoryForecast(const Network& network, const ops::MemoryModel& backend, const RunSizes& sizes,
                               std::size_t kv_row_bytes)
    : network_(network),
      backend_(backend),
      sizes_(sizes),
      kv_row_bytes_(kv_row_bytes),
      different_matrices_(different(network.matrices)) {
  weights_ = network.vector_bytes + network.table_bytes;
  for (const ops::MatrixSize& matrix : network.matrices)
    weights_ += backend.matrix_bytes(matrix);
  fixed_other_ = process_bytes(network, sizes.num_threads) + backend.padding_bytes(network.matrices);
}

std::size_t MemoryForecast::kv_allocated(std::size_t context_length) const {
  return kv_allocated_bytes(network_.kv, kv_row_bytes_, context_length);
}

Memory MemoryForecast::at(std::size_t context_length, std::size_t num_sequences) const {
  const models::ModelConfig& config = network_.config;
  const std::size_t num_prompt_rows = max_prompt_rows(sizes_.max_chunk_tokens, context_length, num_sequences);
  const ops::StepSize step{.num_prompt_rows = num_prompt_rows,
                           .num_sequences = num_sequences,
                           .context_length = context_length,
                           .num_heads = config.num_heads,
                           .num_kv_heads = config.num_kv_heads,
                           .head_dim = config.head_dim,
                           .window = all_layers_window(network_.kv),
                           .num_chosen = config.experts.num_used,
                           .looks_up_head = network_.is_head_table};
  Memory memory;
  memory.weights = weights_;
  memory.kv = num_sequences * plan::kv_bytes(network_.kv, kv_row_bytes_, context_length);
  memory.kv_allocated = num_sequences * kv_allocated(context_length);
  memory.activations = models::WorkspaceSize(config, num_prompt_rows + num_sequences, num_sequences).bytes();
  memory.scratch = backend_.scratch_bytes(different_matrices_, step);
  memory.other = fixed_other_ + page_padding(memory.kv_allocated);
  return memory;
}

std::size_t MemoryForecast::max_context(std::size_t available_bytes, std::size_t num_sequences,
                                        std::size_t context_limit) const {
  if (at(context_limit, num_sequences).total() <= available_bytes) return context_limit;
  const std::size_t max_blocks = context_limit / kvcache::kBlockTokens;
  const std::size_t num_blocks = largest_that_fits(max_blocks, [&](std::size_t blocks) {
    return at(blocks * kvcache::kBlockTokens, num_sequences).total() <= available_bytes;
  });
  return num_blocks * kvcache::kBlockTokens;
}

std::size_t MemoryForecast::max_sequences(std::size_t available_bytes, std::size_t context_length) const {
  return largest_that_fits(kMostSequences, [&](std::size_t num_sequences) {
    return at(context_length, num_sequences).total() <= available_bytes;
  });
}

}  // namespace vitrine::plan
