#include "ops/backend.h"

#include <algorithm>

#include "base/check.h"

namespace vitrine::ops {
namespace {

bool same_shape(const Rows& a, const Rows& b) {
  return a.num_rows == b.num_rows && a.width == b.width;
}

void check_ids(std::span<const TokenId> ids, std::size_t vocab_size) {
  VT_CHECK(std::ranges::all_of(ids, [&](TokenId id) { return id >= 0 && static_cast<std::size_t>(id) < vocab_size; }),
           "token ids lie inside the vocabulary");
}

void check_outputs(std::span<const MatmulOutput> outputs, std::size_t num_rows, std::size_t width) {
  for (const MatmulOutput& output : outputs) {
    VT_CHECK(output.matrix->in_features() == width && output.matrix->out_features() == output.out.width,
             "matmul widths");
    VT_CHECK(output.out.num_rows == num_rows, "matmul rows");
  }
}

void check_context(const AttentionContext& context, std::size_t num_rows) {
  VT_CHECK(context.cache != nullptr && context.layer_idx < context.cache->shape().num_layers, "attention layer");
  std::size_t next_row = 0;
  for (const SequenceRows& sequence : context.sequences) {
    VT_CHECK(sequence.first_row == next_row, "sequences lie in row order without gaps");
    next_row += sequence.num_rows;
    const std::size_t end = sequence.first_position + sequence.num_rows;
    VT_CHECK(sequence.block_table.size() * kvcache::kBlockTokens >= end, "the block table covers every position");
  }
  VT_CHECK(next_row == num_rows, "the sequences make up the batch");
}

}  // namespace

void Backend::embed(const tensor::TensorView& table, std::span<const TokenId> ids, float scale, Rows out) {
  VT_CHECK(table.shape.rank() == 2 && out.width == table.shape[1] && out.num_rows == ids.size(), "embedding shapes");
  check_ids(ids, table.shape[0]);
  do_embed(table, ids, scale, out);
}

void Backend::embed(const Matrix& table, std::span<const TokenId> ids, float scale, Rows out) {
  VT_CHECK(out.width == table.in_features() && out.num_rows == ids.size(), "embedding shapes");
  check_ids(ids, table.out_features());
  do_embed_packed(table, ids, scale, out);
}

void Backend::rms_norm(Rows x, std::span<const float> weight, float eps, Rows out) {
  // The weight may be narrower than a row: then it applies to each head of the row.
  VT_CHECK(same_shape(x, out) && !weight.empty() && x.width % weight.size() == 0, "norm shapes");
  do_rms_norm(x, weight, eps, out);
}

void Backend::matmul(Rows x, std::span<const Role> roles, std::span<const MatmulOutput> outputs) {
  VT_CHECK(roles.size() == x.num_rows, "a role for each row");
  check_outputs(outputs, x.num_rows, x.width);
  do_matmul(x, roles, outputs);
}

void Backend::matmul_normed(const NormedRows& x, Rows between, std::span<const Role> roles,
                            std::span<const MatmulOutput> outputs) {
  VT_CHECK(same_shape(x.x, between) && x.weight.size() == x.x.width, "norm shapes");
  VT_CHECK(roles.size() == x.x.num_rows, "a role for each row");
  check_outputs(outputs, x.x.num_rows, x.x.width);
  do_matmul_normed(x, between, roles, outputs);
}

void Backend::do_matmul_normed(const NormedRows& x, Rows between, std::span<const Role> roles,
                               std::span<const MatmulOutput> outputs) {
  do_rms_norm(x.x, x.weight, x.eps, between);
  do_matmul(between, roles, outputs);
}

void Backend::matmul_gated(const GatedRows& x, std::span<const Role> roles, std::span<const MatmulOutput> outputs) {
  VT_CHECK(same_shape(x.gate, x.up), "gate and up shapes");
  VT_CHECK(roles.size() == x.gate.num_rows, "a role for each row");
  check_outputs(outputs, x.gate.num_rows, x.gate.width);
  do_matmul_gated(x, roles, outputs);
}

void Backend::do_matmul_gated(const GatedRows& x, std::span<const Role> roles, std::span<const MatmulOutput> outputs) {
  do_activate_and_multiply(x.activation, x.gate, x.up);
  do_matmul(x.gate, roles, outputs);
}

bool Backend::matmul_peaks(Rows x, std::span<const Role> roles, const Matrix& matrix,
                           std::span<std::optional<base::RowPeak>> peaks) {
  VT_CHECK(roles.size() == x.num_rows && peaks.size() == x.num_rows, "a role and a peak for each row");
  VT_CHECK(matrix.in_features() == x.width, "matmul widths");
  return do_matmul_peaks(x, roles, matrix, peaks);
}

void Backend::expert_matmul(Rows x, std::span<const Role> roles, const ExpertChoices& choices,
                            std::span<const ExpertOutput> outputs) {
  VT_CHECK(choices.num_choices() == roles.size() * choices.num_chosen, "choices for each row");
  VT_CHECK(x.num_rows == roles.size() || x.num_rows == choices.num_choices(), "an input for each row or choice");
  for (const ExpertOutput& output : outputs) {
    VT_CHECK(output.experts.size() == choices.num_experts, "a matrix for each expert");
    const Matrix& first = *output.experts.front();
    VT_CHECK(first.in_features() == x.width && first.out_features() == output.out.width, "expert widths");
    VT_CHECK(output.out.num_rows == choices.num_choices(), "an output for each choice");
  }
  do_expert_matmul(x, roles, choices, outputs);
}

void Backend::combine_experts(Rows x, const ExpertChoices& choices, Rows out) {
  VT_CHECK(x.width == out.width && x.num_rows == choices.num_choices(), "expert answers");
  VT_CHECK(choices.num_choices() == out.num_rows * choices.num_chosen, "choices for each row");
  do_combine_experts(x, choices, out);
}

void Backend::add(Rows x, Rows y) {
  VT_CHECK(same_shape(x, y), "add shapes");
  do_add(x, y);
}

void Backend::add_bias(Rows x, std::span<const float> bias) {
  VT_CHECK(x.width == bias.size(), "bias width");
  do_add_bias(x, bias);
}

void Backend::activate_and_multiply(Activation activation, Rows gate, Rows up) {
  VT_CHECK(same_shape(gate, up), "gate and up shapes");
  do_activate_and_multiply(activation, gate, up);
}

void Backend::rope(Rows heads, std::size_t head_dim, const RopeAngles& angles) {
  VT_CHECK(head_dim != 0 && heads.width % head_dim == 0 && 2 * angles.num_pairs <= head_dim, "rope widths");
  VT_CHECK(angles.cosines.size() == heads.num_rows * angles.num_pairs, "rope angles for each row");
  do_rope(heads, head_dim, angles);
}

void Backend::store_kv(Rows keys, Rows values, const AttentionContext& context) {
  check_context(context, keys.num_rows);
  const kvcache::KvCacheShape& shape = context.cache->shape();
  VT_CHECK(same_shape(keys, values) && keys.width == shape.num_kv_heads * shape.head_dim, "key and value shapes");
  do_store_kv(keys, values, context);
}

void Backend::attention(Rows queries, const AttentionShape& shape, const AttentionContext& context, Rows out) {
  check_context(context, queries.num_rows);
  const kvcache::KvCacheShape& cache = context.cache->shape();
  VT_CHECK(same_shape(queries, out) && queries.width == shape.num_heads * cache.head_dim, "attention shapes");
  VT_CHECK(shape.num_heads % cache.num_kv_heads == 0, "query heads are a multiple of KV heads");
  do_attention(queries, shape, context, out);
}

}  // namespace vitrine::ops
