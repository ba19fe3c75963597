// The paged KV cache's side of CpuBackend: writing keys and values, and attention over them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "base/check.h"
#include "base/float16.h"

namespace vitrine::backends::cpu {
namespace {

using kvcache::kBlockTokens;
using kvcache::KvCache;
using tensor::DType;

void put_element(DType type, std::byte* base, std::size_t idx, float value) {
  if (type == DType::kF32) {
    std::memcpy(base + 4 * idx, &value, 4);
  } else if (type == DType::kF16) {
    const base::Float16 half = base::to_float16(value);
    std::memcpy(base + 2 * idx, &half, 2);
  } else {
    const base::BFloat16 half = base::to_bfloat16(value);
    std::memcpy(base + 2 * idx, &half, 2);
  }
}

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
  SlotWriter(const KvCache& cache, const KvCache::HeadBlock& block, std::size_t slot)
      : type_(cache.shape().type), head_dim_(cache.shape().head_dim), block_(block), slot_(slot) {}

  void write(const float* key, const float* value) const {
    if (type_ == DType::kQ8_0) return write_quantized(key, value);
    for (std::size_t channel = 0; channel < head_dim_; ++channel) {
      put_element(type_, block_.keys, channel * kBlockTokens + slot_, key[channel]);
      put_element(type_, block_.values, slot_ * head_dim_ + channel, value[channel]);
    }
  }

 private:
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

  DType type_;
  std::size_t head_dim_;
  KvCache::HeadBlock block_;
  std::size_t slot_;
};

const ops::SequenceRows& sequence_of(std::span<const ops::SequenceRows> sequences, std::size_t row_idx) {
  const auto after = std::ranges::upper_bound(sequences, row_idx, {}, &ops::SequenceRows::first_row);
  return *std::prev(after);
}

// The blocks of one KV head that a sequence can see, as pointers by block index.
struct BlockPointers {
  std::vector<const std::byte*> keys, values, key_scales, value_scales;

  void fill(const ops::AttentionContext& context, const ops::SequenceRows& sequence, std::size_t kv_head_idx) {
    const std::size_t num_blocks = sequence.block_table.size();
    for (auto* list : {&keys, &values, &key_scales, &value_scales})
      list->resize(num_blocks);
    for (std::size_t i = 0; i < num_blocks; ++i) {
      const auto block = context.cache->head_block(context.layer_idx, sequence.block_table[i], kv_head_idx);
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
        SlotWriter(*context.cache, head_block, position % kBlockTokens)
            .write(keys.row(sequence.first_row + i) + start, values.row(sequence.first_row + i) + start);
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

void CpuBackend::do_attention(ops::Rows queries, const ops::AttentionShape& shape, const ops::AttentionContext& context,
                              ops::Rows out) {
  const kvcache::KvCacheShape& cache = context.cache->shape();
  const std::size_t group = shape.num_heads / cache.num_kv_heads;
  const AttentionKernel kernel = attention_kernel(cache.type);
  // A task is one row under one KV head; consecutive tasks share the head, so its blocks stay in cache.
  const std::size_t num_tasks = queries.num_rows * cache.num_kv_heads;
  pool_.for_range(num_tasks, std::max<std::size_t>(1, std::min<std::size_t>(16, num_tasks / (2 * pool_.num_threads()))),
                  [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
                    BlockPointers blocks;
                    const ops::SequenceRows* filled_sequence = nullptr;
                    std::size_t filled_head = 0;
                    for (std::size_t task = begin; task < end; ++task) {
                      const std::size_t kv_head_idx = task / queries.num_rows;
                      const std::size_t row_idx = task % queries.num_rows;
                      const ops::SequenceRows& sequence = sequence_of(context.sequences, row_idx);
                      if (filled_sequence != &sequence || filled_head != kv_head_idx) {
                        blocks.fill(context, sequence, kv_head_idx);
                        filled_sequence = &sequence;
                        filled_head = kv_head_idx;
                      }
                      const std::size_t visible_end = sequence.first_position + (row_idx - sequence.first_row) + 1;
                      const std::size_t visible_begin =
                          shape.window != 0 && visible_end > shape.window ? visible_end - shape.window : 0;
                      AlignedBuffer& scratch = thread_scratch_[thread_idx];
                      scratch.ensure(group * (visible_end + 2 * kBlockTokens) * sizeof(float));
                      const std::size_t start = kv_head_idx * group * cache.head_dim;
                      kernel({.keys = blocks.keys.data(),
                              .values = blocks.values.data(),
                              .key_scales = blocks.key_scales.data(),
                              .value_scales = blocks.value_scales.data(),
                              .queries = queries.row(row_idx) + start,
                              .out = out.row(row_idx) + start,
                              .scores = scratch.as<float>(),
                              .num_queries = group,
                              .head_dim = cache.head_dim,
                              .begin = visible_begin,
                              .end = visible_end,
                              .scale = shape.scale});
                    }
                  });
}

}  // namespace vitrine::backends::cpu
