#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ops/backend.h"

namespace vitrine::ops {

enum class OpKind : std::uint8_t {
  kEmbed,
  kRmsNorm,
  kMatmul,
  kExpertMatmul,
  kCombineExperts,
  kAdd,
  kAddBias,
  kActivateAndMultiply,
  kRope,
  kStoreKv,
  kAttention,
};

// One call of an operation: how long it took and what it had to do. Bytes are those of the weights, or of the keys and
// values, that it had to read once; activations are not counted. A multiplication with its addition is 2 operations;
// only products of matrices and attention count.
struct OpRecord {
  OpKind kind;
  std::size_t num_outputs;  // of a group of products
  double time_s;
  std::size_t bytes;
  double flops;
  std::string kernel;  // Backend::kernel_name() of its first matrix and row, or attention_name(); else empty
};

class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void on_op(const OpRecord& op) = 0;
  // Before an attention is computed, the keys of its rows being stored: what it will look with.
  virtual void on_attention(Rows /*queries*/, const AttentionShape& /*shape*/, const AttentionContext& /*context*/) {}
};

// Another backend, watched: passes each operation on and tells the observer of it. Computes nothing itself, so no bit
// changes. Both must outlive it; used by the thread that uses the other.
class ObservedBackend final : public Backend {
 public:
  ObservedBackend(Backend& inner, OpObserver& observer) : inner_(inner), observer_(observer) {}

  std::unique_ptr<Matrix> load_matrix(const tensor::TensorView& weight, MatrixUse use) override {
    return inner_.load_matrix(weight, use);
  }
  bool keeps_source(tensor::DType type) const override { return inner_.keeps_source(type); }
  std::string kernel_name(const Matrix& matrix, Role role) const override { return inner_.kernel_name(matrix, role); }
  std::string attention_name(tensor::DType type, Role role) const override { return inner_.attention_name(type, role); }
  void for_each(std::size_t count, const std::function<void(std::size_t)>& task) override {
    inner_.for_each(count, task);
  }

 private:
  struct Work {
    std::size_t num_outputs = 1;
    std::size_t bytes = 0;
    double flops = 0.0;
    std::string kernel = {};
  };
  template <typename Operation>
  void observe(OpKind kind, const Work& work, Operation operation);

  void do_embed(const tensor::TensorView& table, std::span<const TokenId> ids, float scale, Rows out) override;
  void do_embed_packed(const Matrix& table, std::span<const TokenId> ids, float scale, Rows out) override;
  void do_rms_norm(Rows x, std::span<const float> weight, float eps, Rows out) override;
  void do_matmul(Rows x, std::span<const Role> roles, std::span<const MatmulOutput> outputs) override;
  bool do_matmul_peaks(Rows x, std::span<const Role> roles, const Matrix& matrix,
                       std::span<std::optional<base::RowPeak>> peaks) override;
  void do_expert_matmul(Rows x, std::span<const Role> roles, const ExpertChoices& choices,
                        std::span<const ExpertOutput> outputs) override;
  void do_combine_experts(Rows x, const ExpertChoices& choices, Rows out) override;
  void do_add(Rows x, Rows y) override;
  void do_add_bias(Rows x, std::span<const float> bias) override;
  void do_activate_and_multiply(Activation activation, Rows gate, Rows up) override;
  void do_rope(Rows heads, std::size_t head_dim, const RopeAngles& angles) override;
  void do_store_kv(Rows keys, Rows values, const AttentionContext& context) override;
  void do_attention(Rows queries, const AttentionShape& shape, const AttentionContext& context, Rows out) override;

  Backend& inner_;
  OpObserver& observer_;
};

}  // namespace vitrine::ops
