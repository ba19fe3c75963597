// The paged KV cache's side of CpuBackend: writing keys and values, and attention over them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/scratch.h"
#include "base/check.h"
#include "base/float16.h"

namespace vitrine::backends::cpu {
namespace {

using kvcache::kBlockTokens;
using kvcache::KvCache;
using tensor::DType;

// Q8_0 of 32 channels: scale = max |x| / 127 as float16; the codes are rounded with the scale that is stored.
struct QuantizedChannels {
  base::Float16 scale;
  std::int8_t codes[32];
};
QuantizedChannels quantize_channels(const float* x) {
  float largest = 0.0F;
  for (std::size_t i = 0; i < 32; ++i) {
    const float magnitude = std::fabs(x[i]);
    // Written so that a NaN stays: it must reach the scale.
    if (!(magnitude <= largest)) largest = magnitude;
  }
  QuantizedChannels result;
  result.scale = base::to_float16(largest / 127.0F);
  const float scale = base::to_float(result.scale);
  const bool usable = scale > 0.0F && std::isfinite(scale);
  for (std::size_t i = 0; i < 32; ++i) {
    const float code = usable ? std::nearbyintf(x[i] / scale) : 0.0F;
    result.codes[i] = static_cast<std::int8_t>(std::clamp(code, -127.0F, 127.0F));
  }
  return result;
}

// Writes one head's key and value of one position into its slot of a block.
class SlotWriter {
 public:
  SlotWriter(const KernelTable& kernels, std::size_t head_dim, const KvCache::HeadBlock& block, std::size_t slot)
      : kernels_(kernels), head_dim_(head_dim), block_(block), slot_(slot) {}

  void write(DType type, const float* key, const float* value) const {
    switch (type) {
      case DType::kF32:
        return write_elements(
            key, value, +[](const float* x, std::size_t n, float* out) { std::copy_n(x, n, out); });
      case DType::kF16:
        return write_elements(key, value, kernels_.narrow_to_f16);
      case DType::kBF16:
        return write_elements(
            key, value, +[](const float* x, std::size_t n, base::BFloat16* out) {
              std::transform(x, x + n, out, [](float element) { return base::to_bfloat16(element); });
            });
      default:
        return write_quantized(key, value);
    }
  }

 private:
  // `narrow` makes elements of the cache's type out of floats.
  template <typename Element>
  void write_elements(const float* key, const float* value,
                      void (*narrow)(const float* x, std::size_t n, Element* out)) const {
    constexpr std::size_t kChannels = 16;
    std::array<Element, kChannels> elements;
    for (std::size_t channel = 0; channel < head_dim_; channel += kChannels) {
      narrow(value + channel, kChannels, elements.data());
      std::memcpy(block_.values + (slot_ * head_dim_ + channel) * sizeof(Element), elements.data(), sizeof(elements));
      narrow(key + channel, kChannels, elements.data());
      for (std::size_t i = 0; i < kChannels; ++i) {
        std::memcpy(block_.keys + ((channel + i) * kBlockTokens + slot_) * sizeof(Element), &elements[i],
                    sizeof(Element));
      }
    }
  }

  void write_quantized(const float* key, const float* value) const {
    const std::size_t num_groups = head_dim_ / 32;
    for (std::size_t group = 0; group < num_groups; ++group) {
      const QuantizedChannels k = quantize_channels(key + 32 * group);
      const QuantizedChannels v = quantize_channels(value + 32 * group);
      std::memcpy(block_.key_scales + 2 * (group * kBlockTokens + slot_), &k.scale, 2);
      std::memcpy(block_.value_scales + 2 * (slot_ * num_groups + group), &v.scale, 2);
      std::memcpy(block_.values + slot_ * head_dim_ + 32 * group, v.codes, 32);
      for (std::size_t i = 0; i < 32; ++i) {
        block_.keys[(32 * group + i) * kBlockTokens + slot_] = static_cast<std::byte>(k.codes[i]);
      }
    }
  }

  const KernelTable& kernels_;
  std::size_t head_dim_;
  KvCache::HeadBlock block_;
  std::size_t slot_;
};

constexpr std::size_t kPartBlocks = kAttentionPart / kBlockTokens;

// The blocks of one KV head that lie in one part, as pointers.
struct PartBlocks {
  std::array<const std::byte*, kPartBlocks> keys;
  std::array<const std::byte*, kPartBlocks> values;
  std::array<const std::byte*, kPartBlocks> key_scales;
  std::array<const std::byte*, kPartBlocks> value_scales;

  PartBlocks(const ops::AttentionContext& context, const ops::SequenceRows& sequence, std::size_t kv_head_idx,
             std::size_t part_idx) {
    const std::size_t first_block = part_idx * kPartBlocks;
    const std::size_t num_blocks = std::min(kPartBlocks, sequence.block_table.size() - first_block);
    for (std::size_t i = 0; i < num_blocks; ++i) {
      const auto block =
          context.cache->head_block(context.layer_idx, sequence.block_table[first_block + i], kv_head_idx);
      keys[i] = block.keys;
      values[i] = block.values;
      key_scales[i] = block.key_scales;
      value_scales[i] = block.value_scales;
    }
  }
};

}  // namespace

void CpuBackend::do_store_kv(ops::Rows keys, ops::Rows values, const ops::AttentionContext& context) {
  const kvcache::KvCacheShape& shape = context.cache->shape();
  for (const ops::SequenceRows& sequence : context.sequences) {
    for (std::size_t i = 0; i < sequence.num_rows; ++i) {
      const std::size_t position = sequence.first_position + i;
      const kvcache::BlockId block = sequence.block_table[position / kBlockTokens];
      for (std::size_t head = 0; head < shape.num_kv_heads; ++head) {
        const auto head_block = context.cache->head_block(context.layer_idx, block, head);
        const std::size_t start = head * shape.head_dim;
        SlotWriter(kernels_, shape.head_dim, head_block, position % kBlockTokens)
            .write(shape.type, keys.row(sequence.first_row + i) + start, values.row(sequence.first_row + i) + start);
      }
    }
  }
}

AttentionKernel CpuBackend::attention_kernel(DType type) const {
  switch (type) {
    case DType::kF32:
      return kernels_.attention_f32;
    case DType::kF16:
      return kernels_.attention_f16;
    case DType::kBF16:
      return kernels_.attention_bf16;
    default:
      return kernels_.attention_q8_0;
  }
}

// One layer's attention: rows of a sequence that follow each other form a tile, so that they share the loads of keys
// and values; a task is a tile under one KV head, or one part of it where there are too few tasks for the threads.
class CpuBackend::AttentionPass {
 public:
  AttentionPass(CpuBackend& backend, ops::Rows queries, const ops::AttentionShape& shape,
                const ops::AttentionContext& context, ops::Rows out)
      : backend_(backend),
        kernels_(backend.kernels_),
        kernel_(backend.attention_kernel(context.cache->shape().type)),
        queries_(queries),
        shape_(shape),
        context_(context),
        out_(out),
        cache_(context.cache->shape()),
        group_(shape.num_heads / cache_.num_kv_heads),
        record_(attention_record(cache_.head_dim)),
        size_(attention_task_size(kernels_, group_, cache_.head_dim)) {
    make_tiles();
  }

  void run() {
    base::ThreadPool& pool = backend_.pool_;
    const std::size_t num_tasks = tiles_.size() * cache_.num_kv_heads;
    if (shares_parts(num_tasks, max_parts_, pool.num_threads())) return run_split(num_tasks);
    const std::size_t grain = std::clamp<std::size_t>(num_tasks / (4 * pool.num_threads()), 1, 16);
    pool.for_range(num_tasks, grain, [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
      AlignedBuffer& scratch = backend_.thread_scratch_[thread_idx];
      scratch.ensure(size_.score_bytes + max_parts_ * size_.part_bytes);
      auto* scores = scratch.as<float>();
      float* records = scores + size_.score_bytes / sizeof(float);
      for (std::size_t task = begin; task < end; ++task) {
        const Tile& tile = tile_of(task);
        const std::vector<AttentionQuery> queries = queries_of(task);
        for (std::size_t part_idx = tile.first_part; part_idx < tile.end_part; ++part_idx)
          attend(task, queries, part_idx, scores, records + (part_idx - tile.first_part) * tile_records());
        combine(task, records);
      }
    });
  }

 private:
  // Rows [first_row, first_row + num_rows) of a sequence, which see positions of the parts [first_part, end_part).
  struct Tile {
    const ops::SequenceRows* sequence;
    std::size_t first_row;
    std::size_t num_rows;
    std::size_t first_part;
    std::size_t end_part;
  };

  void make_tiles() {
    for (const ops::SequenceRows& sequence : context_.sequences) {
      for (std::size_t i = 0; i < sequence.num_rows; i += size_.tile_rows) {
        Tile tile{&sequence, sequence.first_row + i, std::min(size_.tile_rows, sequence.num_rows - i), 0, 0};
        tile.first_part = visible_begin(tile, tile.first_row) / kAttentionPart;
        tile.end_part = (visible_end(tile, tile.first_row + tile.num_rows - 1) - 1) / kAttentionPart + 1;
        max_parts_ = std::max(max_parts_, tile.end_part - tile.first_part);
        tiles_.push_back(tile);
      }
    }
  }

  static std::size_t visible_end(const Tile& tile, std::size_t row_idx) {
    return tile.sequence->first_position + (row_idx - tile.sequence->first_row) + 1;
  }
  std::size_t visible_begin(const Tile& tile, std::size_t row_idx) const {
    const std::size_t end = visible_end(tile, row_idx);
    return shape_.window != 0 && end > shape_.window ? end - shape_.window : 0;
  }

  // Tasks that follow each other share the KV head, so its blocks stay in cache.
  const Tile& tile_of(std::size_t task) const { return tiles_[task % tiles_.size()]; }
  std::size_t kv_head_of(std::size_t task) const { return task / tiles_.size(); }
  std::size_t tile_records() const { return size_.part_bytes / sizeof(float); }

  std::vector<AttentionQuery> queries_of(std::size_t task) const {
    const Tile& tile = tile_of(task);
    std::vector<AttentionQuery> queries;
    queries.reserve(tile.num_rows * group_);
    for (std::size_t row_idx = tile.first_row; row_idx < tile.first_row + tile.num_rows; ++row_idx) {
      const float* row = queries_.row(row_idx) + kv_head_of(task) * group_ * cache_.head_dim;
      for (std::size_t head = 0; head < group_; ++head) {
        queries.push_back({row + head * cache_.head_dim, visible_begin(tile, row_idx), visible_end(tile, row_idx)});
      }
    }
    return queries;
  }

  void attend(std::size_t task, std::span<const AttentionQuery> queries, std::size_t part_idx, float* scores,
              float* records) const {
    const PartBlocks blocks(context_, *tile_of(task).sequence, kv_head_of(task), part_idx);
    kernel_({.keys = blocks.keys.data(),
             .values = blocks.values.data(),
             .key_scales = blocks.key_scales.data(),
             .value_scales = blocks.value_scales.data(),
             .queries = queries.data(),
             .records = records,
             .scores = scores,
             .num_queries = queries.size(),
             .head_dim = cache_.head_dim,
             .first_position = part_idx * kAttentionPart,
             .scale = shape_.scale});
  }

  void combine(std::size_t task, const float* records) const {
    const Tile& tile = tile_of(task);
    for (std::size_t i = 0; i < tile.num_rows * group_; ++i) {
      float* out = out_.row(tile.first_row + i / group_) + (kv_head_of(task) * group_ + i % group_) * cache_.head_dim;
      kernels_.combine_attention(records + i * record_, tile.end_part - tile.first_part, tile_records(),
                                 cache_.head_dim, out);
    }
  }

  void run_split(std::size_t num_tasks) {
    AlignedBuffer& shared = backend_.attention_records_;
    shared.ensure(num_tasks * max_parts_ * size_.part_bytes);
    const auto records_of = [&](std::size_t task) { return shared.as<float>() + task * max_parts_ * tile_records(); };
    backend_.pool_.for_range(num_tasks * max_parts_, 1,
                             [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
                               AlignedBuffer& scratch = backend_.thread_scratch_[thread_idx];
                               scratch.ensure(size_.score_bytes);
                               for (std::size_t item = begin; item < end; ++item) {
                                 const std::size_t task = item / max_parts_;
                                 const std::size_t part = item % max_parts_;
                                 const Tile& tile = tile_of(task);
                                 if (tile.first_part + part >= tile.end_part) continue;
                                 attend(task, queries_of(task), tile.first_part + part, scratch.as<float>(),
                                        records_of(task) + part * tile_records());
                               }
                             });
    for (std::size_t task = 0; task < num_tasks; ++task)
      combine(task, records_of(task));
  }

  CpuBackend& backend_;
  const KernelTable& kernels_;
  AttentionKernel kernel_;
  ops::Rows queries_;
  const ops::AttentionShape& shape_;
  const ops::AttentionContext& context_;
  ops::Rows out_;
  const kvcache::KvCacheShape& cache_;
  std::size_t group_;
  std::size_t record_;  // floats of a query's record
  AttentionTaskSize size_;
  std::size_t max_parts_ = 0;
  std::vector<Tile> tiles_;
};

void CpuBackend::do_attention(ops::Rows queries, const ops::AttentionShape& shape, const ops::AttentionContext& context,
                              ops::Rows out) {
  if (!options_.paths.prompts_attend_by_products()) return AttentionPass(*this, queries, shape, context, out).run();
  attend_prompts(queries, shape, context, out);
  std::vector<ops::SequenceRows> generated;
  for (ops::SequenceRows sequence : context.sequences) {
    const std::size_t num_prompt_rows = sequence.num_prompt_rows();
    sequence.first_row += num_prompt_rows;
    sequence.first_position += num_prompt_rows;
    sequence.num_rows -= num_prompt_rows;
    if (sequence.num_rows > 0) generated.push_back(sequence);
  }
  if (generated.empty()) return;
  const ops::AttentionContext rest{context.cache, context.layer_idx, generated};
  AttentionPass(*this, queries, shape, rest, out).run();
}

}  // namespace vitrine::backends::cpu
