#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/aligned_buffer.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/packed_matrix.h"
#include "backends/cpu/screening.h"
#include "backends/cpu/split_pack.h"
#include "backends/cpu/weight_memory.h"
#include "base/thread_pool.h"
#include "ops/backend.h"

namespace vitrine::backends::cpu {

// How a matrix product is computed; each is defined by the generic kernels (docs/numerics.md).
enum class NumericPath : std::uint8_t {
  kThroughput,  // weights and activations rounded to bf16, float32 sums in the order of the tile unit
  kPairs,       // attention alone: keys, queries, weights and values rounded to bf16, sums in the order of AVX512-BF16
  kLatency,     // quantised weights times int8 activations, exact sums inside a block; float weights in float32
  kReference,   // everything in float32
};

// The path of each role; the head takes `generated` for both.
struct PathTable {
  NumericPath prompt = NumericPath::kLatency;
  NumericPath generated = NumericPath::kLatency;
  bool pairs_attention = false;  // prompt rows attend on the path of pairs, whatever their products do

  NumericPath prompt_attention() const { return pairs_attention ? NumericPath::kPairs : prompt; }
  // Whether that is by matrix products.
  bool prompts_attend_by_products() const {
    return prompt_attention() == NumericPath::kThroughput || prompt_attention() == NumericPath::kPairs;
  }

  // What an instruction set uses: prompt rows go through the tile unit's path where there is one, their attention
  // through that of pairs where there is a unit for it.
  static PathTable for_isa(Isa isa);
  static PathTable reference() { return {NumericPath::kReference, NumericPath::kReference}; }
  std::string name() const;  // "prompt=latency generated=latency attention=pairs": part of a prefix hash
};

// The unit of a table that computes a path's attention; nullptr where it has none.
inline const TileUnit* unit_of(const KernelTable& kernels, NumericPath path) {
  return path == NumericPath::kPairs        ? kernels.pair_unit
         : path == NumericPath::kThroughput ? kernels.tile_unit
                                            : nullptr;
}

// The Backend on this machine's CPUs. One thread calls it at a time; it owns the threads that it splits work over, and
// the memory of the weights: it must outlive the models that it loaded.
class CpuBackend : public ops::Backend {
 public:
  struct Options {
    Isa isa = Isa::kGeneric;
    std::size_t num_threads = 1;
    std::vector<unsigned> pinned_cpus = {};  // as ThreadPool takes them
    PathTable paths;
    std::optional<PackedCache> cache = std::nullopt;  // of packed weights
    const KernelTable* kernels = nullptr;             // in place of the instruction set's own
    HeadScreening screening = HeadScreening::kWhereItPays;
  };
  explicit CpuBackend(const Options& options);

  std::unique_ptr<ops::Matrix> load_matrix(const tensor::TensorView& weight, ops::MatrixUse use) override;
  bool keeps_source(tensor::DType type) const override;
  std::string kernel_name(const ops::Matrix& matrix, ops::Role role) const override;
  std::string attention_name(tensor::DType type, ops::Role role) const override;
  void for_each(std::size_t count, const std::function<void(std::size_t)>& task) override;
  // To be called once a model's weights are loaded; with a cache, they are there at the next start.
  void finish_loading() { weights_.finish(); }
  std::size_t weight_bytes_from_cache() const { return weights_.bytes_from_cache(); }

  Isa isa() const { return options_.isa; }
  const PathTable& paths() const { return options_.paths; }
  std::size_t num_threads() const { return pool_.num_threads(); }
  // Products with a head that were read to the high bits for the most part.
  std::size_t num_screened_products() const { return num_screened_products_; }
  // Buffers that operations keep between calls.
  std::size_t scratch_bytes() const;

 private:
  // Rows of one numeric path, in the forms that its matrices read. Those of one expert lie together.
  struct PathRows {
    bool throughput = false;
    std::vector<std::size_t> input_row;   // in the operation's input
    std::vector<std::size_t> output_row;  // in each of its outputs
    AlignedBuffer codes;
    AlignedBuffer factors;
    AlignedBuffer floats;
    AlignedBuffer bf16;           // as the tile unit reads them
    std::size_t bf16_stride = 0;  // rows from one of its k tiles to the next
  };

  void do_embed(const tensor::TensorView& table, std::span<const TokenId> ids, float scale, ops::Rows out) override;
  void do_embed_packed(const ops::Matrix& table, std::span<const TokenId> ids, float scale, ops::Rows out) override;
  void do_rms_norm(ops::Rows x, std::span<const float> weight, float eps, ops::Rows out) override;
  void do_matmul(ops::Rows x, std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs) override;
  bool do_matmul_peaks(ops::Rows x, std::span<const ops::Role> roles, const ops::Matrix& matrix,
                       std::span<std::optional<base::RowPeak>> peaks) override;
  void do_matmul_normed(const ops::NormedRows& x, ops::Rows between, std::span<const ops::Role> roles,
                        std::span<const ops::MatmulOutput> outputs) override;
  void do_matmul_gated(const ops::GatedRows& x, std::span<const ops::Role> roles,
                       std::span<const ops::MatmulOutput> outputs) override;
  void do_expert_matmul(ops::Rows x, std::span<const ops::Role> roles, const ops::ExpertChoices& choices,
                        std::span<const ops::ExpertOutput> outputs) override;
  void do_combine_experts(ops::Rows x, const ops::ExpertChoices& choices, ops::Rows out) override;
  void do_add(ops::Rows x, ops::Rows y) override;
  void do_add_bias(ops::Rows x, std::span<const float> bias) override;
  void do_activate_and_multiply(ops::Activation activation, ops::Rows gate, ops::Rows up) override;
  void do_rope(ops::Rows heads, std::size_t head_dim, const ops::RopeAngles& angles) override;
  void do_store_kv(ops::Rows keys, ops::Rows values, const ops::AttentionContext& context) override;
  void do_attention(ops::Rows queries, const ops::AttentionShape& shape, const ops::AttentionContext& context,
                    ops::Rows out) override;

  // A matrix times the rows [first_row, first_row + num_rows) of a path.
  struct Product {
    const PackedMatrix* matrix;
    ops::Rows out;
    std::size_t first_row;
    std::size_t num_rows;
    std::size_t end_tile = 0;  // tiles of this product and of those before it
    bool keeps_peaks = false;  // alone: `out` is empty, and a thread's scratch holds what it saw of each row
  };

  // Part of the work: one or two tiles of a product's matrix, times some of the product's rows.
  struct TileTask {
    const Product* product;
    std::size_t tile_idx;   // the first
    std::size_t num_tiles;  // 2 for int8 kernels only
    const float* slab;      // the tile's values, where the path reads those; else null
    std::size_t first_row;
    std::size_t num_rows;
    AlignedBuffer* scratch;  // the thread's
  };

  class AttentionPass;
  class TileAttention;

  NumericPath path_of(ops::Role role, ops::MatrixUse use) const;
  PathRows& rows_of(ops::Role role, ops::MatrixUse use);
  void split_rows(std::span<const ops::Role> roles, ops::MatrixUse use);
  // quantize(row, codes, factors) for each input row of the path.
  template <typename Quantize>
  void quantize_each(std::size_t k, PathRows& rows, Quantize quantize);
  void quantize_rows(ops::Rows x, PathRows& rows);
  // The same rows times matrices, where quantizes_all().
  template <typename Quantize>
  void multiply_quantized(std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs,
                          Quantize quantize);
  bool quantizes_all(std::span<const ops::Role> roles, std::span<const ops::MatmulOutput> outputs) const;
  void add_products(std::span<const ops::MatmulOutput> outputs, std::size_t num_rows);
  void gather_rows(ops::Rows x, bool round_to_bf16, PathRows& rows);
  bool uses_tile_unit(const PathRows& rows) const { return rows.throughput && kernels_.tile_unit != nullptr; }
  void pack_tile_rows(ops::Rows x, PathRows& rows);
  void prepare_rows(ops::Rows x, PathRows& rows);
  void group_by_expert(const ops::ExpertChoices& choices);
  void add_product(const ops::Matrix& matrix, ops::Rows out, std::size_t first_row, std::size_t num_rows);
  void multiply(ops::Rows x, PathRows& rows);
  void multiply_prepared(const PathRows& rows);
  void multiply_tiles(const PathRows& rows, AlignedBuffer& slab, std::size_t begin, std::size_t end) const;
  const float* decode_slab(const PackedMatrix& matrix, std::size_t tile_idx, bool throughput,
                           AlignedBuffer& buffer) const;
  void multiply_tile(const PathRows& rows, const TileTask& task) const;
  void run_tile_kernel(const PathRows& rows, const TileTask& task, float* const* out, std::size_t lanes) const;
  std::optional<base::RowPeak> find_peak(std::size_t row_idx, std::size_t num_rows) const;
  bool multiply_screened();
  std::array<std::size_t, kMaxScreenedRows> screen_tiles(const float* lengths);
  std::span<const std::uint32_t> tiles_left(const std::size_t* sure_tiles);
  void multiply_on_tile_unit(const PathRows& rows, AlignedBuffer& scratch, std::size_t begin, std::size_t end) const;
  void decode_tile_slab(const PackedMatrix& matrix, std::size_t tile_idx, std::uint16_t* slab) const;
  void multiply_slabs(const PathRows& rows, const Product& product, std::size_t tile_idx, std::size_t num_slabs,
                      AlignedBuffer& scratch) const;
  AttentionKernel attention_kernel(tensor::DType type) const;
  // The throughput path's rows of attention.
  void attend_prompts(ops::Rows queries, const ops::AttentionShape& shape, const ops::AttentionContext& context,
                      ops::Rows out);

  Options options_;
  const KernelTable& kernels_;
  base::ThreadPool pool_;
  WeightMemory weights_;
  PathRows latency_rows_;
  PathRows throughput_rows_;
  std::vector<Product> products_;                   // of the operation and path at work
  std::vector<std::vector<std::size_t>> choosers_;  // [num_experts]: the choices that fell on each
  std::vector<AlignedBuffer> thread_scratch_;       // [num_threads]: attention scores, weight slabs
  AlignedBuffer screening_;                         // of a head's tiles
  ScreeningPace screening_pace_;
  std::size_t num_screened_products_ = 0;
  AlignedBuffer attention_records_;  // of tasks that threads share
  AlignedBuffer attention_slabs_;    // a sequence's keys and values of one layer, as matrices in bf16
};

}  // namespace vitrine::backends::cpu
