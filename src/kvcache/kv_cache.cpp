#include "kvcache/kv_cache.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "base/checked.h"
#include "base/float16.h"

namespace vitrine::kvcache {
namespace {

constexpr std::size_t kScaleGroup = 32;  // channels that share a scale (Q8_0)
constexpr std::size_t kScaleBytes = 2;

std::size_t part_bytes(const KvCacheShape& shape) {
  const bool quantized = shape.type == tensor::DType::kQ8_0;
  return kBlockTokens * shape.head_dim * (quantized ? 1 : tensor::dtype_info(shape.type).block_bytes);
}

std::size_t scale_bytes(const KvCacheShape& shape) {
  if (shape.type != tensor::DType::kQ8_0) return 0;
  return kBlockTokens * (shape.head_dim / kScaleGroup) * kScaleBytes;
}

}  // namespace

base::Result<std::size_t> block_bytes(const KvCacheShape& shape) {
  using enum tensor::DType;
  const bool known = shape.type == kF32 || shape.type == kF16 || shape.type == kBF16 || shape.type == kQ8_0;
  const std::string name(tensor::dtype_info(shape.type).name);
  if (!known) return base::usage_error("--kv-type " + name + ": a KV cache can be f32, f16, bf16 or q8_0");
  if (shape.type == kQ8_0 && shape.head_dim % kScaleGroup != 0) {
    return base::usage_error("--kv-type q8_0: this model's head dimension " + std::to_string(shape.head_dim) +
                             " is not a multiple of 32; use f16");
  }
  const auto heads = base::checked_mul(shape.num_layers, shape.num_kv_heads);
  const auto bytes = heads ? base::checked_mul(*heads, 2 * (part_bytes(shape) + scale_bytes(shape))) : heads;
  if (!bytes) return base::usage_error("the shape of the KV cache overflows");
  return *bytes;
}

base::Result<KvCache> KvCache::create(const KvCacheShape& shape, std::size_t num_blocks) {
  const auto bytes_per_block = block_bytes(shape);
  if (!bytes_per_block) return bytes_per_block.error();
  const auto total = base::checked_mul(*bytes_per_block, num_blocks);
  const base::Error no_room{base::ErrorKind::kNoMemory, "KV cache: no room for " + std::to_string(num_blocks) +
                                                            " blocks of " + std::to_string(*bytes_per_block) +
                                                            " bytes; lower --ctx or --kv-memory"};
  if (!total || *total == 0) return no_room;
  KvCache cache;
  try {
    cache.data_ = base::PageBuffer(*total);
  } catch (const std::bad_alloc&) {
    return no_room;
  }
  cache.shape_ = shape;
  cache.num_blocks_ = num_blocks;
  cache.block_bytes_ = *bytes_per_block;
  cache.part_bytes_ = part_bytes(shape);
  cache.scale_bytes_ = scale_bytes(shape);
  cache.head_bytes_ = 2 * (cache.part_bytes_ + cache.scale_bytes_);
  return cache;
}

KvCache::HeadBlock KvCache::head_block(std::size_t layer_idx, BlockId block, std::size_t kv_head_idx) const {
  // Blocks are outermost so that a short sequence touches few pages.
  const std::size_t head =
      (static_cast<std::size_t>(block) * shape_.num_layers + layer_idx) * shape_.num_kv_heads + kv_head_idx;
  std::byte* keys = data_.data() + head * head_bytes_;
  std::byte* values = keys + part_bytes_;
  std::byte* key_scales = values + part_bytes_;
  return {keys, values, key_scales, key_scales + scale_bytes_};
}

namespace {

template <typename Element>
Element element_at(const std::byte* data, std::size_t index) {
  Element element;
  std::memcpy(&element, data + index * sizeof(Element), sizeof(Element));
  return element;
}

}  // namespace

void KvCache::read_key(std::size_t layer_idx, BlockId block, std::size_t kv_head_idx, std::size_t slot,
                       std::span<float> key) const {
  const HeadBlock head = head_block(layer_idx, block, kv_head_idx);
  for (std::size_t i = 0; i < key.size(); ++i) {
    const std::size_t index = i * kBlockTokens + slot;
    switch (shape_.type) {
      case tensor::DType::kF32:
        key[i] = element_at<float>(head.keys, index);
        break;
      case tensor::DType::kF16:
        key[i] = base::to_float(element_at<base::Float16>(head.keys, index));
        break;
      case tensor::DType::kBF16:
        key[i] = base::to_float(element_at<base::BFloat16>(head.keys, index));
        break;
      default: {  // kQ8_0
        const auto scale = element_at<base::Float16>(head.key_scales, i / kScaleGroup * kBlockTokens + slot);
        key[i] = base::to_float(scale) * static_cast<float>(element_at<std::int8_t>(head.keys, index));
      }
    }
  }
}

}  // namespace vitrine::kvcache
