#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "loader/model_files.h"
#include "models/registry.h"

namespace vitrine::testing {

// A model with its backend and files, kept in the order in which they must die.
struct LoadedModel {
  std::unique_ptr<loader::ModelFiles> files;
  std::unique_ptr<backends::cpu::CpuBackend> backend;
  std::unique_ptr<models::Model> model;
};

inline LoadedModel load(const std::filesystem::path& path, const backends::cpu::CpuBackend::Options& options) {
  LoadedModel loaded;
  loaded.files = std::make_unique<loader::ModelFiles>(loader::open_model_files(path).value_or_throw());
  loaded.backend = std::make_unique<backends::cpu::CpuBackend>(options);
  loaded.model = models::load_model(*loaded.files, *loaded.backend).value_or_throw();
  return loaded;
}

inline backends::cpu::CpuBackend::Options reference_options() {
  return {
      .isa = backends::cpu::supported_isas().back(), .num_threads = 2, .paths = backends::cpu::PathTable::reference()};
}

// Keeps what a forward pass shows, by name.
class Recorder : public models::ForwardObserver {
 public:
  void on_values(std::string_view name, std::span<const float> values, std::size_t /*width*/) override {
    seen_[std::string(name)].assign(values.begin(), values.end());
  }
  const std::vector<float>& at(const std::string& name) const { return seen_.at(name); }

 private:
  std::map<std::string, std::vector<float>> seen_;
};

// Feeds one sequence through a model, its blocks in an order that is not the identity.
class SequenceRunner {
 public:
  SequenceRunner(const models::Model& model, std::size_t max_tokens, std::size_t prompt_tokens,
                 tensor::DType kv_type = tensor::DType::kF32)
      : model_(model),
        prompt_tokens_(prompt_tokens),
        cache_(kvcache::KvCache::create(model.kv_shape(kv_type), num_blocks(max_tokens)).value_or_throw()),
        workspace_(model.make_workspace(max_tokens, max_tokens)) {
    for (std::size_t i = num_blocks(max_tokens); i > 0; --i)
      block_table_.push_back(static_cast<kvcache::BlockId>(i - 1));
  }

  // Appends tokens and returns the logits of all of them, [num_tokens, vocab_size].
  std::vector<float> append(std::span<const TokenId> ids, models::ForwardObserver* observer = nullptr) {
    models::ForwardBatch batch;
    batch.heartbeat = &heartbeat_;
    batch.wants_peaks = wants_peaks_;
    batch.token_ids.assign(ids.begin(), ids.end());
    batch.sequences.push_back({.first_row = 0,
                               .num_rows = ids.size(),
                               .first_position = length_,
                               .prompt_tokens = prompt_tokens_,
                               .block_table = block_table_});
    for (std::size_t i = 0; i < ids.size(); ++i)
      batch.logit_rows.push_back(i);
    model_.forward(batch, cache_, *workspace_, observer);
    length_ += ids.size();
    std::vector<float> logits;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = workspace_->logits(i);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  }
  // The largest logits of the same rows, where the model finds them without the others.
  std::vector<std::optional<base::RowPeak>> append_for_peaks(std::span<const TokenId> ids) {
    wants_peaks_ = true;
    append(ids);
    wants_peaks_ = false;
    const auto peaks = workspace_->peaks();
    return {peaks.begin(), peaks.end()};
  }
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  static std::size_t num_blocks(std::size_t tokens) { return tokens / kvcache::kBlockTokens + 2; }

  const models::Model& model_;
  std::size_t prompt_tokens_;
  std::size_t length_ = 0;
  base::Heartbeat heartbeat_;
  bool wants_peaks_ = false;
  kvcache::KvCache cache_;
  std::unique_ptr<models::Workspace> workspace_;
  std::vector<kvcache::BlockId> block_table_;
};

}  // namespace vitrine::testing
