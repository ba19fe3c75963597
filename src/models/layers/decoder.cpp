#include "models/layers/decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

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

void Decoder::embed(ops::Backend& backend, std::span<const TokenId> ids, ops::Rows hidden) const {
  if (is_head_looked_up_) {
    backend.embed(*head_, ids, config_.embedding_scale, hidden);
  } else {
    backend.embed(embedding_, ids, config_.embedding_scale, hidden);
  }
}

void Decoder::forward(const ForwardBatch& batch, kvcache::KvCache& cache, Workspace& workspace,
                      ForwardObserver* observer) const {
  auto& buffers = static_cast<DecoderWorkspace&>(workspace);
  prepare(batch, buffers);
  ops::OpObserver* op_observer = observer != nullptr ? observer->op_observer() : nullptr;
  if (op_observer == nullptr) {
    run_layers({config_, backend_, batch, cache, buffers}, observer);
  } else {
    ops::ObservedBackend observed(backend_, *op_observer);
    run_layers({config_, observed, batch, cache, buffers}, observer);
  }
}

void Decoder::run_layers(const Step& step, ForwardObserver* observer) const {
  const ops::Rows hidden = step.workspace.hidden.rows(step.num_rows());
  embed(step.backend, step.batch.token_ids, hidden);
  observe(observer, "embedding", hidden);
  observe(observer, hidden_name(0), hidden);
  for (std::size_t layer_idx = 0; layer_idx < layers_.size(); ++layer_idx) {
    layers_[layer_idx]->forward(step, hidden);
    if (step.batch.heartbeat != nullptr) step.batch.heartbeat->beat();
    observe(observer, hidden_name(layer_idx + 1), hidden);
  }
  if (observer != nullptr || step.batch.wants_final_hidden) {
    const ops::Rows normed = step.workspace.normed.rows(step.num_rows());
    step.backend.rms_norm(hidden, final_norm_, config_.rms_norm_eps, normed);
    observe(observer, "final_norm", normed);
  }
  score_wanted(step, observer);
}

// Only the wanted rows are normed and scored: the head is the largest matrix of a small model.
void Decoder::score_wanted(const Step& step, ForwardObserver* observer) const {
  const std::vector<std::size_t>& wanted = step.batch.logit_rows;
  step.workspace.found_peaks.clear();
  if (wanted.empty()) return;
  const ops::Rows selected = step.workspace.logit_rows.rows(wanted.size());
  const ops::Rows hidden = step.workspace.hidden.rows(step.num_rows());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    std::copy_n(hidden.row(wanted[i]), selected.width, selected.row(i));
  norm_selected(step.backend, wanted.size(), step.workspace);
  if (step.batch.wants_peaks && observer == nullptr && find_peaks(step.backend, wanted.size(), step.workspace)) return;
  observe(observer, "logits", score_selected(step.backend, wanted.size(), step.workspace));
}

void Decoder::score(std::span<const float> hidden, Workspace& workspace) const {
  auto& buffers = static_cast<DecoderWorkspace&>(workspace);
  const std::size_t num_rows = hidden.size() / config_.hidden_size;
  VT_CHECK(hidden.size() == num_rows * config_.hidden_size, "whole rows of hidden states");
  std::ranges::copy(hidden, buffers.logit_rows.rows(num_rows).data);
  norm_selected(backend_, num_rows, buffers);
  score_selected(backend_, num_rows, buffers);
}

void Decoder::norm_selected(ops::Backend& backend, std::size_t num_rows, DecoderWorkspace& workspace) const {
  const ops::Rows selected = workspace.logit_rows.rows(num_rows);
  backend.rms_norm(selected, final_norm_, config_.rms_norm_eps, selected);
}

// Of what lies in workspace.logit_rows, normed. Capping may make logits equal that are not.
bool Decoder::find_peaks(ops::Backend& backend, std::size_t num_rows, DecoderWorkspace& workspace) const {
  if (config_.final_logit_softcap != 0.0F) return false;
  const std::vector<ops::Role> roles(num_rows, ops::Role::kGenerated);
  workspace.found_peaks.resize(num_rows);
  if (backend.matmul_peaks(workspace.logit_rows.rows(num_rows), roles, *head_, workspace.found_peaks)) return true;
  workspace.found_peaks.clear();
  return false;
}

// The logits of what lies in workspace.logit_rows, normed.
ops::Rows Decoder::score_selected(ops::Backend& backend, std::size_t num_rows, DecoderWorkspace& workspace) const {
  const ops::Rows selected = workspace.logit_rows.rows(num_rows);
  const ops::Rows logits = workspace.all_logits.rows(num_rows);
  // The head has one numeric path for both roles.
  const std::vector<ops::Role> roles(num_rows, ops::Role::kGenerated);
  backend.matmul(selected, roles, std::array{ops::MatmulOutput{head_.get(), logits}});
  softcap(logits, config_.final_logit_softcap);
  return logits;
}

}  // namespace vitrine::models
