// Attention of prompt rows by matrix products: products with the keys and weighted sums of the values as those of bf16
// matrices, in the order of the tile unit or of AVX512-BF16 (by either, where it is there). A sequence's keys and
// values of a layer are brought into slabs once per step; a task is a tile of its rows under one KV head, whose query
// heads are all rows of one matrix. Parts are cut and put together as on the other paths, so how a prompt was split
// changes nothing.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/scratch.h"
#include "base/checked.h"
#include "base/float16.h"

namespace vitrine::backends::cpu {
namespace {

using kvcache::kBlockTokens;
using tensor::DType;
static_assert(kBlockTokens == kTileRows, "a block of keys is a tile of outputs");

constexpr std::size_t kPartBlocks = kAttentionPart / kBlockTokens;
constexpr std::size_t kPartTiles = kAttentionPart / kTileK;

// Positions [begin, end) inside a part, or parts.
struct Span {
  std::size_t begin;
  std::size_t end;
};

PackedKind float_kind(DType type) {
  return type == DType::kF32 ? PackedKind::kF32 : type == DType::kF16 ? PackedKind::kF16 : PackedKind::kBF16;
}

float scale_at(const std::byte* scales, std::size_t idx) {
  base::Float16 half;
  std::memcpy(&half, scales + 2 * idx, sizeof(half));
  return base::to_float(half);
}

// Blocks of the cache as slabs of bf16 weights. Everything is per thread but what it reads.
class SlabPacker {
 public:
  SlabPacker(const KernelTable& kernels, const TileUnit* unit, DType type, std::size_t head_dim,
             const TileAttentionSize& size, float* block)
      : kernels_(kernels), unit_(unit), type_(type), head_dim_(head_dim), size_(size), block_(block) {}

  // Keys [head_dim][16] to a slab with head_dim inputs.
  void pack_keys(const kvcache::KvCache::HeadBlock& block, std::byte* slab) const {
    auto* halves = reinterpret_cast<std::uint16_t*>(slab);
    if (unit_ != nullptr && type_ != DType::kQ8_0) {
      return unit_->decode_slab[static_cast<std::size_t>(float_kind(type_))](bytes(block.keys), head_dim_, halves);
    }
    if (type_ == DType::kQ8_0) {
      for (std::size_t i = 0; i < head_dim_ * kBlockTokens; ++i) {
        const std::size_t scale = i / kBlockTokens / 32 * kBlockTokens + i % kBlockTokens;
        block_[i] = code_at(block.keys, i) * scale_at(block.key_scales, scale);
      }
    } else {
      unpack(block.keys);
    }
    if (unit_ != nullptr) return unit_->pack_slab(block_, head_dim_, halves);
    auto* values = reinterpret_cast<float*>(slab);
    std::copy_n(block_, head_dim_ * kBlockTokens, values);
    kernels_.round_to_bf16(values, head_dim_ * kBlockTokens);
  }

  // The values of a block, [16][head_dim], to 16 inputs of each slab of 16 channels; `slabs` is where they lie in the
  // first. Positions from num_valid on are zeros: their weights are zero, what the cache holds there may be anything.
  void pack_values(const kvcache::KvCache::HeadBlock& block, std::size_t num_valid, std::byte* slabs) const {
    const bool direct = unit_ != nullptr && type_ != DType::kQ8_0;
    if (!direct) decode_values(block);
    const auto kind = static_cast<std::size_t>(direct ? float_kind(type_) : PackedKind::kF32);
    const std::byte* rows = direct ? block.values : reinterpret_cast<const std::byte*>(block_);
    const std::size_t element_bytes = !direct || type_ == DType::kF32 ? 4 : 2;
    for (std::size_t channel = 0; channel < head_dim_; channel += kTileRows) {
      std::byte* slab = slabs + channel / kTileRows * kPartTiles * size_.tile_bytes;
      if (unit_ != nullptr) {
        unit_->pack_rows[kind](rows + channel * element_bytes, head_dim_, num_valid,
                               reinterpret_cast<std::uint16_t*>(slab));
        continue;
      }
      auto* values = reinterpret_cast<float*>(slab);
      for (std::size_t slot = 0; slot < kBlockTokens; ++slot) {
        float* out = values + slot * kTileRows;
        if (slot < num_valid) {
          std::copy_n(block_ + slot * head_dim_ + channel, kTileRows, out);
        } else {
          std::fill_n(out, kTileRows, 0.0F);
        }
      }
      kernels_.round_to_bf16(values, kBlockTokens * kTileRows);
    }
  }

 private:
  static const std::uint8_t* bytes(const std::byte* data) { return reinterpret_cast<const std::uint8_t*>(data); }
  static float code_at(const std::byte* codes, std::size_t idx) {
    return static_cast<float>(static_cast<std::int8_t>(codes[idx]));
  }
  void unpack(const std::byte* elements) const {
    kernels_.unpack_tile[static_cast<std::size_t>(float_kind(type_))](bytes(elements), head_dim_, block_);
  }
  void decode_values(const kvcache::KvCache::HeadBlock& block) const {
    if (type_ != DType::kQ8_0) return unpack(block.values);
    for (std::size_t i = 0; i < kBlockTokens * head_dim_; ++i) {
      const std::size_t scale = i / head_dim_ * (head_dim_ / 32) + i % head_dim_ / 32;
      block_[i] = code_at(block.values, i) * scale_at(block.value_scales, scale);
    }
  }

  const KernelTable& kernels_;
  const TileUnit* unit_;
  DType type_;
  std::size_t head_dim_;
  const TileAttentionSize& size_;
  float* block_;  // scratch, [16 * head_dim]
};

// The unit is at work on this thread while the object lives.
class UseOfTiles {
 public:
  explicit UseOfTiles(const TileUnit* unit) : unit_(unit) {
    if (unit_ != nullptr) unit_->begin();
  }
  UseOfTiles(const UseOfTiles&) = delete;
  UseOfTiles& operator=(const UseOfTiles&) = delete;
  ~UseOfTiles() {
    if (unit_ != nullptr) unit_->end();
  }

 private:
  const TileUnit* unit_;
};

}  // namespace

// One layer's attention of the prompt rows of one sequence after the other.
class CpuBackend::TileAttention {
 public:
  TileAttention(CpuBackend& backend, ops::Rows queries, const ops::AttentionShape& shape,
                const ops::AttentionContext& context, ops::Rows out)
      : backend_(backend),
        kernels_(backend.kernels_),
        path_(backend.options_.paths.prompt_attention()),
        unit_(unit_of(kernels_, path_)),
        queries_(queries),
        shape_(shape),
        context_(context),
        out_(out),
        cache_(context.cache->shape()),
        group_(shape.num_heads / cache_.num_kv_heads),
        record_(attention_record(cache_.head_dim)),
        size_(tile_attention_size(unit_ != nullptr, group_, cache_.head_dim)) {}

  void run(const ops::SequenceRows& sequence) {
    sequence_ = &sequence;
    end_ = sequence.first_position + sequence.num_rows;
    first_part_ = visible_begin(0) / kAttentionPart;
    num_parts_ = base::ceil_div(end_, kAttentionPart) - first_part_;
    pack();
    const std::size_t num_tiles = base::ceil_div(sequence.num_rows, size_.tile_rows);
    // Of every thread, whether it comes to take part or not: what is kept does not depend on chance.
    for (AlignedBuffer& buffer : backend_.thread_scratch_)
      buffer.ensure(size_.thread_bytes(max_parts(num_tiles)));
    backend_.pool_.for_range(num_tiles * cache_.num_kv_heads, 1,
                             [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
                               const UseOfTiles use(unit_);
                               for (std::size_t task = begin; task < end; ++task)
                                 attend(thread_idx, task / num_tiles, task % num_tiles * size_.tile_rows);
                             });
  }

 private:
  // A thread's scratch memory, cut up.
  struct Scratch {
    float* block;
    std::byte* queries;
    std::byte* weights;
    float* products;
    float* sums;
    float* records;
  };
  Scratch scratch_of(std::size_t thread_idx, std::size_t num_parts) const {
    AlignedBuffer& buffer = backend_.thread_scratch_[thread_idx];
    buffer.ensure(size_.thread_bytes(num_parts));
    std::byte* next = buffer.data();
    const auto take = [&](std::size_t size_bytes) {
      std::byte* taken = next;
      next += size_bytes;
      return taken;
    };
    const auto take_floats = [&](std::size_t size_bytes) { return reinterpret_cast<float*>(take(size_bytes)); };
    return {.block = take_floats(size_.block_bytes),
            .queries = take(size_.query_bytes),
            .weights = take(size_.weight_bytes),
            .products = take_floats(size_.product_bytes),
            .sums = take_floats(size_.sums_bytes),
            .records = take_floats(num_parts * size_.record_bytes)};
  }

  // Of the sequence's row_idx-th row.
  std::size_t visible_end(std::size_t row_idx) const { return sequence_->first_position + row_idx + 1; }
  std::size_t visible_begin(std::size_t row_idx) const {
    const std::size_t end = visible_end(row_idx);
    return shape_.window != 0 && end > shape_.window ? end - shape_.window : 0;
  }

  std::byte* slabs_of(std::size_t kv_head_idx, std::size_t part_idx) const {
    return backend_.attention_slabs_.data() + (kv_head_idx * num_parts_ + part_idx - first_part_) * size_.slab_bytes();
  }

  void pack() {
    backend_.attention_slabs_.ensure(cache_.num_kv_heads * num_parts_ * size_.slab_bytes());
    // Two blocks are the inputs of one tile.
    const std::size_t num_pairs = base::ceil_div(end_, kTileK) - first_part_ * kPartTiles;
    backend_.pool_.for_range(cache_.num_kv_heads * num_pairs, kPartTiles / 2,
                             [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
                               const SlabPacker packer(kernels_, unit_, cache_.type, cache_.head_dim, size_,
                                                       scratch_of(thread_idx, 0).block);
                               for (std::size_t i = begin; i < end; ++i)
                                 pack_pair(packer, i / num_pairs, first_part_ * kPartTiles + i % num_pairs);
                             });
  }

  void pack_pair(const SlabPacker& packer, std::size_t kv_head_idx, std::size_t pair_idx) const {
    std::byte* keys = slabs_of(kv_head_idx, pair_idx / kPartTiles);
    std::byte* values = keys + size_.key_bytes + pair_idx % kPartTiles * size_.tile_bytes;
    for (std::size_t i = 0; i < 2; ++i, values += size_.tile_bytes / 2) {
      const std::size_t block_idx = 2 * pair_idx + i;
      const std::size_t start = block_idx * kBlockTokens;
      // Of a block that is not there, the one before stands for the place of the zeros.
      const std::size_t present = start < end_ ? block_idx : block_idx - 1;
      const auto block = context_.cache->head_block(context_.layer_idx, sequence_->block_table[present], kv_head_idx);
      packer.pack_values(block, start < end_ ? std::min(kBlockTokens, end_ - start) : 0, values);
      packer.pack_keys(block, keys + block_idx % kPartBlocks * num_k_tiles(cache_.head_dim) * size_.tile_bytes);
    }
  }

  // A row of k values to row `idx` of a matrix of `num_rows`.
  void pack_row(const float* x, std::size_t k, std::byte* rows, std::size_t num_rows, std::size_t idx) const {
    if (unit_ != nullptr) {
      unit_->pack_row(x, k, reinterpret_cast<std::uint16_t*>(rows) + idx * kTileK, padded_tile_rows(num_rows));
      return;
    }
    float* row = reinterpret_cast<float*>(rows) + idx * k;
    std::copy_n(x, k, row);
    kernels_.round_to_bf16(row, k);
  }

  // What products with keys, [kAttentionPart], weigh: those of the positions `all` to row `idx` of a matrix of
  // `num_rows`.
  AttentionWeights weigh(float* products, Span all, Span visible, std::byte* rows, std::size_t num_rows,
                         std::size_t idx) const {
    if (unit_ != nullptr) {
      return unit_->pack_attention_weights(products, all.begin, all.end, visible.begin, visible.end, shape_.scale,
                                           reinterpret_cast<std::uint16_t*>(rows) + idx * kTileK,
                                           padded_tile_rows(num_rows));
    }
    const AttentionWeights weights =
        kernels_.attention_weights(products, all.begin, all.end, visible.begin, visible.end, shape_.scale);
    pack_row(products + all.begin, all.end - all.begin, rows, num_rows, idx);
    return weights;
  }

  // One or two slabs times the rows: 16 results of each to out[row].
  void multiply(const std::byte* slabs, std::size_t slab_bytes, std::size_t num_slabs, const std::byte* rows,
                std::size_t k, float* sums, std::vector<float*>& out) const {
    if (unit_ != nullptr) {
      unit_->multiply({.slabs = reinterpret_cast<const std::uint16_t*>(slabs),
                       .slab_stride = slab_bytes / sizeof(std::uint16_t),
                       .num_slabs = num_slabs,
                       .k_tiles = num_k_tiles(k),
                       .rows = reinterpret_cast<const std::uint16_t*>(rows),
                       .row_stride = padded_tile_rows(out.size()),
                       .num_rows = out.size(),
                       .sums = sums,
                       .out = out.data(),
                       .lanes = kTileRows});
      return;
    }
    for (std::size_t i = 0; i < num_slabs; ++i) {
      const auto kernel = path_ == NumericPath::kPairs ? kernels_.pairs_tile : kernels_.throughput_tile;
      kernel(slabs + i * slab_bytes, reinterpret_cast<const float*>(rows), out.size(), k, out.data(), kTileRows);
      for (float*& row : out)
        row += kTileRows;
    }
  }

  std::size_t rows_of_tile(std::size_t first_row) const {
    return std::min(size_.tile_rows, sequence_->num_rows - first_row);
  }
  // That the rows of a tile see.
  Span parts_of_tile(std::size_t first_row) const {
    const std::size_t last_row = first_row + rows_of_tile(first_row) - 1;
    return {visible_begin(first_row) / kAttentionPart, base::ceil_div(visible_end(last_row), kAttentionPart)};
  }
  std::size_t max_parts(std::size_t num_tiles) const {
    std::size_t most = 0;
    for (std::size_t tile = 0; tile < num_tiles; ++tile) {
      const Span parts = parts_of_tile(tile * size_.tile_rows);
      most = std::max(most, parts.end - parts.begin);
    }
    return most;
  }

  // The rows from first_row on, under one KV head.
  void attend(std::size_t thread_idx, std::size_t kv_head_idx, std::size_t first_row) const {
    const std::size_t num_rows = rows_of_tile(first_row);
    const std::size_t num_queries = num_rows * group_;
    const auto [first_part, end_part] = parts_of_tile(first_row);
    const Scratch scratch = scratch_of(thread_idx, end_part - first_part);
    for (std::size_t i = 0; i < num_queries; ++i) {
      const float* row = queries_.row(sequence_->first_row + first_row + i / group_);
      pack_row(row + (kv_head_idx * group_ + i % group_) * cache_.head_dim, cache_.head_dim, scratch.queries,
               num_queries, i);
    }
    std::vector<float*> out(num_queries);
    for (std::size_t part_idx = first_part; part_idx < end_part; ++part_idx) {
      float* records = scratch.records + (part_idx - first_part) * size_.queries * record_;
      attend_part({first_row, first_row + num_rows}, slabs_of(kv_head_idx, part_idx), part_idx, scratch, records, out);
    }
    for (std::size_t i = 0; i < num_queries; ++i) {
      float* row = out_.row(sequence_->first_row + first_row + i / group_);
      kernels_.combine_attention(scratch.records + i * record_, end_part - first_part, size_.queries * record_,
                                 cache_.head_dim, row + (kv_head_idx * group_ + i % group_) * cache_.head_dim);
    }
  }

  Span in_part(std::size_t part_idx, std::size_t row_idx) const {
    const std::size_t start = part_idx * kAttentionPart;
    const auto inside = [&](std::size_t position) {
      return position > start ? std::min(position - start, kAttentionPart) : 0;
    };
    return {inside(visible_begin(row_idx)), inside(visible_end(row_idx))};
  }

  void attend_part(Span rows, const std::byte* slabs, std::size_t part_idx, const Scratch& scratch, float* records,
                   std::vector<float*>& out) const {
    const std::size_t first = in_part(part_idx, rows.begin).begin / kTileK * kTileK;
    const std::size_t last = base::ceil_div(in_part(part_idx, rows.end - 1).end, kTileK) * kTileK;
    const std::size_t block_bytes = num_k_tiles(cache_.head_dim) * size_.tile_bytes;
    for (std::size_t position = first; position < last; position += kTileK) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = scratch.products + i * kAttentionPart + position;
      multiply(slabs + position / kBlockTokens * block_bytes, block_bytes, 2, scratch.queries, cache_.head_dim,
               scratch.sums, out);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      float* products = scratch.products + i * kAttentionPart;
      const Span visible = in_part(part_idx, rows.begin + i / group_);
      const AttentionWeights weights = weigh(products, {first, last}, visible, scratch.weights, out.size(), i);
      records[i * record_] = weights.largest;
      records[i * record_ + 1] = weights.sum;
    }
    const std::size_t slab_bytes = kPartTiles * size_.tile_bytes;
    const std::byte* values = slabs + size_.key_bytes + first / kTileK * size_.tile_bytes;
    const std::size_t num_slabs = cache_.head_dim / kTileRows;
    for (std::size_t slab = 0; slab < num_slabs; slab += 2) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = records + i * record_ + kAttentionRecordHead + slab * kTileRows;
      multiply(values + slab * slab_bytes, slab_bytes, std::min<std::size_t>(2, num_slabs - slab), scratch.weights,
               last - first, scratch.sums, out);
    }
  }

  CpuBackend& backend_;
  const KernelTable& kernels_;
  NumericPath path_;
  const TileUnit* unit_;  // nullptr: the same in floats
  ops::Rows queries_;
  const ops::AttentionShape& shape_;
  const ops::AttentionContext& context_;
  ops::Rows out_;
  const kvcache::KvCacheShape& cache_;
  std::size_t group_;
  std::size_t record_;  // floats of a query's record
  TileAttentionSize size_;
  const ops::SequenceRows* sequence_ = nullptr;  // the one at work
  std::size_t end_ = 0;                          // of its positions
  std::size_t first_part_ = 0;                   // that any of its rows sees
  std::size_t num_parts_ = 0;
};

void CpuBackend::attend_prompts(ops::Rows queries, const ops::AttentionShape& shape,
                                const ops::AttentionContext& context, ops::Rows out) {
  TileAttention attention(*this, queries, shape, context, out);
  for (ops::SequenceRows sequence : context.sequences) {
    sequence.num_rows = sequence.num_prompt_rows();
    if (sequence.num_rows > 0) attention.run(sequence);
  }
}

}  // namespace vitrine::backends::cpu
