#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/request.h"
#include "models/model.h"

namespace vitrine::engine {

inline constexpr std::size_t kFakeVocabSize = 64;
inline constexpr std::size_t kFakeContextLength = 4096;
// The logits of a row that holds this token are NaN.
inline constexpr TokenId kNanToken = 63;

// A model without weights whose logits are a hash of all tokens up to a row and of their roles. It keeps that hash, the
// token and the role of each position in the KV cache and fails the test when a sequence is given blocks that hold
// anything but its own prefix.
class FakeModel : public models::Model {
 public:
  // With `shares_answers` a position may have been computed in either role.
  explicit FakeModel(bool shares_answers = false);

  const models::ModelConfig& config() const override { return config_; }
  kvcache::KvCacheShape kv_shape(tensor::DType type) const override;
  std::size_t weight_bytes() const override { return 0; }
  std::unique_ptr<models::Workspace> make_workspace(std::size_t max_rows, std::size_t max_logit_rows) const override;
  void forward(const models::ForwardBatch& batch, kvcache::KvCache& cache, models::Workspace& workspace,
               models::ForwardObserver* observer) const override;
  // Its hidden states say nothing: fails the program.
  void score(std::span<const float> hidden, models::Workspace& workspace) const override;
  // In an order of its own, on another thread.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& task) const override;

  std::size_t num_rows_computed() const { return num_rows_computed_; }
  std::size_t max_rows_of_a_step() const { return max_rows_of_a_step_; }

 private:
  std::uint64_t check_past(const models::SequenceRows& rows, kvcache::KvCache& cache) const;

  bool shares_answers_;
  models::ModelConfig config_;
  mutable std::size_t num_rows_computed_ = 0;
  mutable std::size_t max_rows_of_a_step_ = 0;
};

// What FakeModel and the request's sampler give, computed in one loop without an engine.
std::vector<TokenId> reference_answer(const Request& request, std::size_t max_total_tokens = kFakeContextLength);

// The hidden states of a prompt, [num_tokens][4].
std::vector<std::vector<float>> reference_hidden(const std::vector<TokenId>& prompt);

// A prompt of `size` tokens below 60, the same for the same seed.
std::vector<TokenId> random_prompt(std::size_t size, unsigned seed);

}  // namespace vitrine::engine
