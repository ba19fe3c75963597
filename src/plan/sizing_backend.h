#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/backend.h"
#include "ops/memory_model.h"

namespace vitrine::plan {

// Loads matrices by noting their sizes: what a model's own loading asks for becomes a list. It computes nothing; a
// forward pass on it is our own bug.
class SizingBackend final : public ops::Backend {
 public:
  explicit SizingBackend(const ops::MemoryModel& memory) : memory_(memory) {}

  std::unique_ptr<ops::Matrix> load_matrix(const tensor::TensorView& weight, ops::MatrixUse use) override;
  bool keeps_source(tensor::DType type) const override { return memory_.keeps_source(type); }
  std::string kernel_name(const ops::Matrix&, ops::Role) const override { return {}; }
  std::string attention_name(tensor::DType, ops::Role) const override { return {}; }
  void for_each(std::size_t count, const std::function<void(std::size_t)>& task) override;
  const std::vector<ops::MatrixSize>& matrices() const { return matrices_; }

 private:
  void do_embed(const tensor::TensorView&, std::span<const TokenId>, float, ops::Rows) override;
  void do_embed_packed(const ops::Matrix&, std::span<const TokenId>, float, ops::Rows) override;
  void do_rms_norm(ops::Rows, std::span<const float>, float, ops::Rows) override;
  void do_matmul(ops::Rows, std::span<const ops::Role>, std::span<const ops::MatmulOutput>) override;
  bool do_matmul_peaks(ops::Rows, std::span<const ops::Role>, const ops::Matrix&,
                       std::span<std::optional<base::RowPeak>>) override;
  void do_expert_matmul(ops::Rows, std::span<const ops::Role>, const ops::ExpertChoices&,
                        std::span<const ops::ExpertOutput>) override;
  void do_combine_experts(ops::Rows, const ops::ExpertChoices&, ops::Rows) override;
  void do_add(ops::Rows, ops::Rows) override;
  void do_add_bias(ops::Rows, std::span<const float>) override;
  void do_activate_and_multiply(ops::Activation, ops::Rows, ops::Rows) override;
  void do_rope(ops::Rows, std::size_t, const ops::RopeAngles&) override;
  void do_store_kv(ops::Rows, ops::Rows, const ops::AttentionContext&) override;
  void do_attention(ops::Rows, const ops::AttentionShape&, const ops::AttentionContext&, ops::Rows) override;

  const ops::MemoryModel& memory_;
  std::vector<ops::MatrixSize> matrices_;
};

}  // namespace vitrine::plan
