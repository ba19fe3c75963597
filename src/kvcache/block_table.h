#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/block_id.h"

namespace vitrine::kvcache {

// The blocks of one sequence: positions [i * kBlockTokens, (i + 1) * kBlockTokens) live in blocks()[i]. Each entry
// stands for one ownership in the BlockPool, so only the BlockManager changes it. Move-only: a copy would own twice.
class BlockTable {
 public:
  BlockTable() = default;
  BlockTable(BlockTable&&) = default;
  BlockTable& operator=(BlockTable&&) = default;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  std::span<const BlockId> blocks() const { return blocks_; }
  std::size_t capacity_tokens() const { return blocks_.size() * kBlockTokens; }
  // Leading blocks that the prefix index has been told of (or that came from it).
  std::size_t num_published() const { return num_published_; }

 private:
  friend class BlockManager;

  std::vector<BlockId> blocks_;
  std::size_t num_published_ = 0;
  HolderId holder_ = 0;
};

}  // namespace vitrine::kvcache
