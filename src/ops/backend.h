#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/row_peak.h"
#include "base/token_id.h"
#include "kvcache/kv_cache.h"
#include "ops/expert_choice.h"
#include "ops/role.h"
#include "ops/rows.h"
#include "ops/sequence_rows.h"
#include "tensor/tensor.h"

namespace vitrine::ops {

// A weight matrix in the form its backend computes with; immutable, shared by all threads.
class Matrix {
 public:
  virtual ~Matrix() = default;
  virtual std::size_t out_features() const = 0;
  virtual std::size_t in_features() const = 0;
  virtual std::size_t size_bytes() const = 0;
  virtual std::size_t read_bytes() const { return size_bytes(); }  // by a product of which all results are wanted
};

enum class MatrixUse : std::uint8_t {
  kLayer,   // prompt rows and generated rows each take their own numeric path
  kExpert,  // the same, for the rows that chose it
  kHead,    // one path for both, so that prompt rows and generated rows are scored alike: the head, a router of experts
};

// One product of a group that shares its input: out [num_rows, out_features] = x [num_rows, in_features] * matrix^T.
struct MatmulOutput {
  const Matrix* matrix = nullptr;
  Rows out;
};

// The same with one matrix per expert: choice i of out [num_choices, out_features] is its row of x times the matrix of
// the chosen expert.
struct ExpertOutput {
  std::span<const std::unique_ptr<Matrix>> experts;  // [num_experts], of one shape
  Rows out;
};

enum class Activation : std::uint8_t { kSilu, kGeluTanh };

// Rows as a product reads them: x / sqrt(mean(x^2) + eps) * weight.
struct NormedRows {
  Rows x;
  std::span<const float> weight;  // [width]
  float eps = 0.0F;
};

// activation(gate) * up
struct GatedRows {
  Activation activation = Activation::kSilu;
  Rows gate;
  Rows up;
};

// Cosines and sines of a batch's positions, [num_rows, rotary_dim / 2]; pair i of a head is turned by angle i.
struct RopeAngles {
  std::vector<float> cosines;
  std::vector<float> sines;
  std::size_t num_pairs = 0;
  bool interleaved = false;  // pairs are (2i, 2i + 1) instead of (i, i + num_pairs)
};

// One layer's place in the paged cache, and which rows of the batch belong to which sequence.
struct AttentionContext {
  kvcache::KvCache* cache = nullptr;
  std::size_t layer_idx = 0;
  std::span<const SequenceRows> sequences;
};

struct AttentionShape {
  std::size_t num_heads = 0;  // query heads; a multiple of the cache's KV heads
  float scale = 1.0F;         // what q . k is multiplied with
  std::size_t window = 0;     // positions a row sees, itself included; 0: all
};

// The operations of a forward pass on one kind of hardware. Each checks its shapes (a mismatch is our own bug) and
// leaves the work to its do_ twin. Calls come from one thread at a time; a backend splits the work over its own
// threads, over rows and output columns, never inside a sum.
class Backend {
 public:
  virtual ~Backend() = default;

  // Repacks a weight [out_features, in_features]. The view's memory is not read again afterwards, except where
  // keeps_source() says so.
  virtual std::unique_ptr<Matrix> load_matrix(const tensor::TensorView& weight, MatrixUse use) = 0;
  // Whether matrices of this type are computed straight from the file's memory.
  virtual bool keeps_source(tensor::DType type) const = 0;
  // Which kernel multiplies rows of that role with a matrix, or attends over a cache, for people: "q4_1 int8 avx512".
  virtual std::string kernel_name(const Matrix& matrix, Role role) const = 0;
  virtual std::string attention_name(tensor::DType type, Role role) const = 0;

  // Calls task(i) for each i below `count`, on the threads that compute, for work between operations whose parts do not
  // know of each other. A task must not throw.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& task) = 0;

  // out[i] = table[ids[i]] * scale
  void embed(const tensor::TensorView& table, std::span<const TokenId> ids, float scale, Rows out);
  // The same with the rows of a loaded matrix whose source need not be kept: the same bits.
  void embed(const Matrix& table, std::span<const TokenId> ids, float scale, Rows out);
  void rms_norm(Rows x, std::span<const float> weight, float eps, Rows out);
  // roles: [num_rows] of x.
  void matmul(Rows x, std::span<const Role> roles, std::span<const MatmulOutput> outputs);
  // rms_norm() and matmul(), or activate_and_multiply() and matmul(), with the bits of one after the other. What lies
  // between them may come to `between`, of the width of x, or to the gates; who reads those afterwards can't rely on
  // either.
  void matmul_normed(const NormedRows& x, Rows between, std::span<const Role> roles,
                     std::span<const MatmulOutput> outputs);
  void matmul_gated(const GatedRows& x, std::span<const Role> roles, std::span<const MatmulOutput> outputs);
  // The largest value of each row of x * matrix^T, which has the bits of matmul(); the others are not kept. nullopt
  // where a row holds a NaN or +inf, or nothing but -inf. False where this backend would have to keep them: nothing was
  // done.
  bool matmul_peaks(Rows x, std::span<const Role> roles, const Matrix& matrix,
                    std::span<std::optional<base::RowPeak>> peaks);
  // x holds a row for each role, or one for each choice. An expert's weights are read once, whoever chose it.
  void expert_matmul(Rows x, std::span<const Role> roles, const ExpertChoices& choices,
                     std::span<const ExpertOutput> outputs);
  // out[row] = the weighted sum of x [num_choices, width] over the row's choices, in their order.
  void combine_experts(Rows x, const ExpertChoices& choices, Rows out);
  void add(Rows x, Rows y);                                               // x += y
  void add_bias(Rows x, std::span<const float> bias);                     // each row += bias
  void activate_and_multiply(Activation activation, Rows gate, Rows up);  // gate = activation(gate) * up
  void rope(Rows heads, std::size_t head_dim, const RopeAngles& angles);
  // Writes the rows' keys and values [num_rows, num_kv_heads * head_dim] at their positions.
  void store_kv(Rows keys, Rows values, const AttentionContext& context);
  void attention(Rows queries, const AttentionShape& shape, const AttentionContext& context, Rows out);

 protected:
  // One operation after the other, for backends that can't join them.
  virtual void do_matmul_normed(const NormedRows& x, Rows between, std::span<const Role> roles,
                                std::span<const MatmulOutput> outputs);
  virtual void do_matmul_gated(const GatedRows& x, std::span<const Role> roles, std::span<const MatmulOutput> outputs);

 private:
  virtual void do_embed(const tensor::TensorView& table, std::span<const TokenId> ids, float scale, Rows out) = 0;
  virtual void do_embed_packed(const Matrix& table, std::span<const TokenId> ids, float scale, Rows out) = 0;
  virtual void do_rms_norm(Rows x, std::span<const float> weight, float eps, Rows out) = 0;
  virtual void do_matmul(Rows x, std::span<const Role> roles, std::span<const MatmulOutput> outputs) = 0;
  virtual bool do_matmul_peaks(Rows x, std::span<const Role> roles, const Matrix& matrix,
                               std::span<std::optional<base::RowPeak>> peaks) = 0;
  virtual void do_expert_matmul(Rows x, std::span<const Role> roles, const ExpertChoices& choices,
                                std::span<const ExpertOutput> outputs) = 0;
  virtual void do_combine_experts(Rows x, const ExpertChoices& choices, Rows out) = 0;
  virtual void do_add(Rows x, Rows y) = 0;
  virtual void do_add_bias(Rows x, std::span<const float> bias) = 0;
  virtual void do_activate_and_multiply(Activation activation, Rows gate, Rows up) = 0;
  virtual void do_rope(Rows heads, std::size_t head_dim, const RopeAngles& angles) = 0;
  virtual void do_store_kv(Rows keys, Rows values, const AttentionContext& context) = 0;
  virtual void do_attention(Rows queries, const AttentionShape& shape, const AttentionContext& context, Rows out) = 0;
};

}  // namespace vitrine::ops
