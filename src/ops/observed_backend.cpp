#include "ops/observed_backend.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/elapsed.h"

namespace vitrine::ops {
namespace {

double product_flops(std::size_t num_rows, const Matrix& matrix) {
  return 2.0 * static_cast<double>(num_rows) * static_cast<double>(matrix.out_features()) *
         static_cast<double>(matrix.in_features());
}

// Keys that the rows of a sequence look at, those of each row counted: each sees itself and what lies before it.
std::size_t num_scores(const SequenceRows& sequence, std::size_t window) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < sequence.num_rows; ++i) {
    const std::size_t reach = sequence.first_position + i + 1;
    sum += window == 0 ? reach : std::min(reach, window);
  }
  return sum;
}

// Positions that any row of a sequence looks at.
std::size_t num_positions_read(const SequenceRows& sequence, std::size_t window) {
  const std::size_t end = sequence.first_position + sequence.num_rows;
  return window == 0 ? end : std::min(end, sequence.num_rows + window - 1);
}

// Of one position in one layer.
std::size_t position_bytes(const kvcache::KvCacheShape& shape) {
  const std::size_t block = kvcache::block_bytes(shape).value_or_throw();
  return block / kvcache::kBlockTokens / shape.num_layers;
}

}  // namespace

template <typename Operation>
void ObservedBackend::observe(OpKind kind, const Work& work, Operation operation) {
  const auto began = std::chrono::steady_clock::now();
  operation();
  observer_.on_op({.kind = kind,
                   .num_outputs = work.num_outputs,
                   .time_s = base::seconds_since(began),
                   .bytes = work.bytes,
                   .flops = work.flops,
                   .kernel = work.kernel});
}

void ObservedBackend::do_embed(const tensor::TensorView& table, std::span<const TokenId> ids, float scale, Rows out) {
  observe(OpKind::kEmbed, {}, [&] { inner_.embed(table, ids, scale, out); });
}

void ObservedBackend::do_embed_packed(const Matrix& table, std::span<const TokenId> ids, float scale, Rows out) {
  observe(OpKind::kEmbed, {}, [&] { inner_.embed(table, ids, scale, out); });
}

void ObservedBackend::do_rms_norm(Rows x, std::span<const float> weight, float eps, Rows out) {
  observe(OpKind::kRmsNorm, {}, [&] { inner_.rms_norm(x, weight, eps, out); });
}

void ObservedBackend::do_matmul(Rows x, std::span<const Role> roles, std::span<const MatmulOutput> outputs) {
  Work work{.num_outputs = outputs.size(), .kernel = inner_.kernel_name(*outputs.front().matrix, roles.front())};
  for (const MatmulOutput& output : outputs) {
    work.bytes += output.matrix->read_bytes();
    work.flops += product_flops(x.num_rows, *output.matrix);
  }
  observe(OpKind::kMatmul, work, [&] { inner_.matmul(x, roles, outputs); });
}

// Who watches wants to see all values.
bool ObservedBackend::do_matmul_peaks(Rows, std::span<const Role>, const Matrix&,
                                      std::span<std::optional<base::RowPeak>>) {
  return false;
}

void ObservedBackend::do_expert_matmul(Rows x, std::span<const Role> roles, const ExpertChoices& choices,
                                       std::span<const ExpertOutput> outputs) {
  const std::set<std::uint32_t> chosen(choices.experts.begin(), choices.experts.end());
  Work work{.num_outputs = outputs.size(),
            .kernel = inner_.kernel_name(*outputs.front().experts.front(), roles.front())};
  for (const ExpertOutput& output : outputs) {
    for (const std::uint32_t expert : chosen)
      work.bytes += output.experts[expert]->size_bytes();
    work.flops += product_flops(choices.num_choices(), *output.experts.front());
  }
  observe(OpKind::kExpertMatmul, work, [&] { inner_.expert_matmul(x, roles, choices, outputs); });
}

void ObservedBackend::do_combine_experts(Rows x, const ExpertChoices& choices, Rows out) {
  observe(OpKind::kCombineExperts, {}, [&] { inner_.combine_experts(x, choices, out); });
}

void ObservedBackend::do_add(Rows x, Rows y) {
  observe(OpKind::kAdd, {}, [&] { inner_.add(x, y); });
}

void ObservedBackend::do_add_bias(Rows x, std::span<const float> bias) {
  observe(OpKind::kAddBias, {}, [&] { inner_.add_bias(x, bias); });
}

void ObservedBackend::do_activate_and_multiply(Activation activation, Rows gate, Rows up) {
  observe(OpKind::kActivateAndMultiply, {}, [&] { inner_.activate_and_multiply(activation, gate, up); });
}

void ObservedBackend::do_rope(Rows heads, std::size_t head_dim, const RopeAngles& angles) {
  observe(OpKind::kRope, {}, [&] { inner_.rope(heads, head_dim, angles); });
}

void ObservedBackend::do_store_kv(Rows keys, Rows values, const AttentionContext& context) {
  observe(OpKind::kStoreKv, {}, [&] { inner_.store_kv(keys, values, context); });
}

void ObservedBackend::do_attention(Rows queries, const AttentionShape& shape, const AttentionContext& context,
                                   Rows out) {
  observer_.on_attention(queries, shape, context);
  const kvcache::KvCacheShape& cache = context.cache->shape();
  const SequenceRows& first = context.sequences.front();
  Work work{.kernel = inner_.attention_name(cache.type, first.role(first.first_position))};
  for (const SequenceRows& sequence : context.sequences) {
    work.bytes += num_positions_read(sequence, shape.window) * position_bytes(cache);
    // A score and its share of the sum of values.
    work.flops += 4.0 * static_cast<double>(num_scores(sequence, shape.window) * shape.num_heads * cache.head_dim);
  }
  observe(OpKind::kAttention, work, [&] { inner_.attention(queries, shape, context, out); });
}

}  // namespace vitrine::ops
