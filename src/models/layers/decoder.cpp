#include "models/layers/decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/check.h"

namespace vitrine::models {
namespace {

std::string hidden_name(std::size_t layer_idx) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "hidden_%02zu", layer_idx);
  return name.data();
}

void observe(ForwardObserver* observer, std::string_view name, ops::Rows rows) {
  if (observer != nullptr) observer->on_values(name, rows.values(), rows.width);
}

void softcap(ops::Rows logits, float cap) {
  if (cap == 0.0F) return;
  for (float& logit : logits.values())
    logit = cap * std::tanh(logit / cap);
}

}  // namespace

std::vector<float> Decoder::load_norm(WeightLoader& weights, const ModelConfig& config, const std::string& name,
                                      std::size_t size) {
  std::vector<float> norm = weights.vector(name, size);
  if (config.norm_weight_plus_one) {
    for (float& value : norm)
      value += 1.0F;
  }
  return norm;
}

Decoder::Decoder(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights, const Names& names,
                 std::vector<std::unique_ptr<DecoderLayer>> layers)
    : config_(config),
      backend_(backend),
      rope_(config.rope),
      local_rope_(config.local_rope),
      embedding_(weights.table(names.embedding, config.vocab_size, config.hidden_size)),
      final_norm_(load_norm(weights, config, names.final_norm, config.hidden_size)),
      layers_(std::move(layers)) {
  const bool has_own_head = !config.tied_embeddings && weights.has(names.head);
  if (config.tied_embeddings) weights.ignore(names.head);
  head_ = weights.matrix(has_own_head ? names.head : names.embedding, config.vocab_size, config.hidden_size,
                         ops::MatrixUse::kHead);
  weight_bytes_ = weights.loaded_bytes();
  expert_bytes_ = weights.expert_bytes();
  // Rows of a packed head need no second copy in the file's memory; a head that is computed from that counts there.
  is_head_looked_up_ = !has_own_head && !backend.keeps_source(embedding_.type);
  table_bytes_ = has_own_head ? embedding_.size_bytes() : 0;
}

kvcache::KvCacheShape Decoder::kv_shape(tensor::DType type) const {
  return {.num_layers = config_.num_layers,
          .num_kv_heads = config_.num_kv_heads,
          .head_dim = config_.head_dim,
          .type = type};
}

std::unique_ptr<Workspace> Decoder::make_workspace(std::size_t max_rows, std::size_t max_logit_rows) const {
  return std::make_unique<DecoderWorkspace>(WorkspaceSize(config_, max_rows, max_logit_rows));
}

void Decoder::prepare(const ForwardBatch& batch, DecoderWorkspace& workspace) const {
  workspace.roles.clear();
  workspace.positions.clear();
  for (const ops::SequenceRows& sequence : batch.sequences) {
    for (std::size_t i = 0; i < sequence.num_rows; ++i) {
      const std::size_t position = sequence.first_position + i;
      workspace.positions.push_back(position);
      workspace.roles.push_back(sequence.role(position));
    }
  }
  rope_.angles(workspace.positions, workspace.rope);
  local_rope_.angles(workspace.positions, workspace.local_rope);
}

void Decoder::embed(std::span<const TokenId> ids, ops::Rows hidden) const {
  if (is_head_looked_up_) {
    backend_.embed(*head_, ids, config_.embedding_scale, hidden);
  } else {
    backend_.embed(embedding_, ids, config_.embedding_scale, hidden);
  }
}

void Decoder::forward(const ForwardBatch& batch, kvcache::KvCache& cache, Workspace& workspace,
                      ForwardObserver* observer) const {
  auto& buffers = static_cast<DecoderWorkspace&>(workspace);
  prepare(batch, buffers);
  const Step step{config_, backend_, batch, cache, buffers};
  const ops::Rows hidden = buffers.hidden.rows(batch.num_rows());
  embed(batch.token_ids, hidden);
  observe(observer, "embedding", hidden);
  observe(observer, hidden_name(0), hidden);
  for (std::size_t layer_idx = 0; layer_idx < layers_.size(); ++layer_idx) {
    layers_[layer_idx]->forward(step, hidden);
    observe(observer, hidden_name(layer_idx + 1), hidden);
  }
  if (observer != nullptr || batch.wants_final_hidden) {
    const ops::Rows normed = buffers.normed.rows(batch.num_rows());
    backend_.rms_norm(hidden, final_norm_, config_.rms_norm_eps, normed);
    observe(observer, "final_norm", normed);
  }
  score(batch, buffers, observer);
}

// Only the wanted rows are normed and scored: the head is the largest matrix of a small model.
void Decoder::score(const ForwardBatch& batch, DecoderWorkspace& workspace, ForwardObserver* observer) const {
  const std::size_t num_logit_rows = batch.logit_rows.size();
  if (num_logit_rows == 0) return;
  const ops::Rows selected = workspace.logit_rows.rows(num_logit_rows);
  const ops::Rows hidden = workspace.hidden.rows(batch.num_rows());
  std::vector<ops::Role> roles(num_logit_rows);
  for (std::size_t i = 0; i < num_logit_rows; ++i) {
    std::copy_n(hidden.row(batch.logit_rows[i]), selected.width, selected.row(i));
    roles[i] = workspace.roles[batch.logit_rows[i]];
  }
  backend_.rms_norm(selected, final_norm_, config_.rms_norm_eps, selected);
  const ops::Rows logits = workspace.all_logits.rows(num_logit_rows);
  backend_.matmul(selected, roles, std::array{ops::MatmulOutput{head_.get(), logits}});
  softcap(logits, config_.final_logit_softcap);
  observe(observer, "logits", logits);
}

}  // namespace vitrine::models
