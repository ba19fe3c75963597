#pragma once

#include <memory>
#include <vector>

#include "models/layers/step.h"
#include "models/rope.h"
#include "models/weight_loader.h"

namespace vitrine::models {

// One layer of a decoder: updates the residual stream x [num_rows, hidden_size].
class DecoderLayer {
 public:
  virtual ~DecoderLayer() = default;
  virtual void forward(const Step& step, ops::Rows x) const = 0;
};

// Embedding, layers, final norm, head: what all decoder-only families share. The backend and the weights' mapped files
// must outlive it.
class Decoder : public Model {
 public:
  struct Names {
    std::string embedding, final_norm, head;  // whole tensor names
  };
  // A norm's weight, with the 1 that some families add.
  static std::vector<float> load_norm(WeightLoader& weights, const ModelConfig& config, const std::string& name,
                                      std::size_t size);

  Decoder(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights, const Names& names,
          std::vector<std::unique_ptr<DecoderLayer>> layers);

  const ModelConfig& config() const override { return config_; }
  kvcache::KvCacheShape kv_shape(tensor::DType type) const override;
  std::size_t weight_bytes() const override { return weight_bytes_; }
  std::size_t expert_bytes() const override { return expert_bytes_; }
  std::size_t table_bytes() const override { return table_bytes_; }
  std::unique_ptr<Workspace> make_workspace(std::size_t max_rows, std::size_t max_logit_rows) const override;
  void forward(const ForwardBatch& batch, kvcache::KvCache& cache, Workspace& workspace,
               ForwardObserver* observer) const override;
  void score(std::span<const float> hidden, Workspace& workspace) const override;
  void for_each(std::size_t count, const std::function<void(std::size_t)>& task) const override {
    backend_.for_each(count, task);
  }

 private:
  void embed(ops::Backend& backend, std::span<const TokenId> ids, ops::Rows hidden) const;
  void prepare(const ForwardBatch& batch, DecoderWorkspace& workspace) const;
  void run_layers(const Step& step, ForwardObserver* observer) const;
  void score_wanted(const Step& step, ForwardObserver* observer) const;
  void norm_selected(ops::Backend& backend, std::size_t num_rows, DecoderWorkspace& workspace) const;
  bool find_peaks(ops::Backend& backend, std::size_t num_rows, DecoderWorkspace& workspace) const;
  ops::Rows score_selected(ops::Backend& backend, std::size_t num_rows, DecoderWorkspace& workspace) const;

  ModelConfig config_;
  ops::Backend& backend_;
  Rope rope_;
  Rope local_rope_;
  tensor::TensorView embedding_;   // [vocab_size, hidden_size]
  std::vector<float> final_norm_;  // [hidden_size]
  std::unique_ptr<ops::Matrix> head_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  bool is_head_looked_up_ = false;  // it is the embedding as well
  std::size_t weight_bytes_ = 0;
  std::size_t expert_bytes_ = 0;
  std::size_t table_bytes_ = 0;
};

}  // namespace vitrine::models
