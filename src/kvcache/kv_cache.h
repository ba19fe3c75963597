#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "base/result.h"
#include "kvcache/block_id.h"
#include "tensor/dtype.h"

namespace vitrine::kvcache {

struct KvCacheShape {
  std::size_t num_layers = 0;
  std::size_t num_kv_heads = 0;
  std::size_t head_dim = 0;
  tensor::DType type = tensor::DType::kF16;  // kF32, kF16, kBF16 or kQ8_0
};

// Bytes of one block over all layers, keys and values together. Fails (kUsage) for a type that a KV cache cannot have.
base::Result<std::size_t> block_bytes(const KvCacheShape& shape);

// Storage of keys and values, the only place that holds them; which sequence owns which block is the BlockPool's
// business. Inside a block of one layer and KV head
//   keys are transposed,  [head_dim][kBlockTokens], so that a lane is a position,
//   values are            [kBlockTokens][head_dim], so that a lane is a channel;
// kQ8_0 keeps int8 codes in that order and one float16 scale per 32 channels of a position:
//   key scales [head_dim / 32][kBlockTokens], value scales [kBlockTokens][head_dim / 32].
// Written and read by the engine thread and the backend's threads during one step only.
class KvCache {
 public:
  // Reserves address space for num_blocks blocks at once (kNoMemory when refused); a huge page becomes resident when
  // first written.
  static base::Result<KvCache> create(const KvCacheShape& shape, std::size_t num_blocks);

  const KvCacheShape& shape() const { return shape_; }
  std::size_t num_blocks() const { return num_blocks_; }
  std::size_t size_bytes() const { return num_blocks_ * block_bytes_; }

  // The part of one (layer, block, KV head): codes or elements, and scales (null unless kQ8_0).
  struct HeadBlock {
    std::byte* keys;
    std::byte* values;
    std::byte* key_scales;
    std::byte* value_scales;
  };
  HeadBlock head_block(std::size_t layer_idx, BlockId block, std::size_t kv_head_idx) const;
  // The key of one position, the `slot`th of its block, as float32: key [head_dim]. For looking; kernels read whole
  // blocks.
  void read_key(std::size_t layer_idx, BlockId block, std::size_t kv_head_idx, std::size_t slot,
                std::span<float> key) const;

 private:
  KvCache() = default;

  KvCacheShape shape_;
  std::size_t num_blocks_ = 0;
  std::size_t block_bytes_ = 0;  // over all layers
  std::size_t head_bytes_ = 0;   // one (layer, block, KV head)
  std::size_t part_bytes_ = 0;   // keys (or values) inside it, without scales
  std::size_t scale_bytes_ = 0;  // scales of the keys (or values) inside it
  base::PageBuffer data_;
};

}  // namespace vitrine::kvcache
