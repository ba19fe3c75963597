#include "kvcache/block_pool.h"

#include <algorithm>

#include "base/check.h"

namespace vitrine::kvcache {

BlockPool::BlockPool(std::size_t num_blocks) : blocks_(num_blocks) {
  VT_CHECK(num_blocks < kNone, "block ids are 32 bits");
  free_.reserve(num_blocks);
  for (std::size_t i = num_blocks; i > 0; --i) {
    free_.push_back(static_cast<BlockId>(i - 1));
  }
}

std::optional<BlockPool::Allocation> BlockPool::allocate() {
  if (num_available() == 0) return std::nullopt;
  const bool from_idle = free_.empty();
  const BlockId block = from_idle ? take_oldest_idle() : free_.back();
  if (!from_idle) free_.pop_back();
  at(block).num_owners = 1;
  num_touched_ = std::max(num_touched_, static_cast<std::size_t>(block) + 1);
  return Allocation{block, from_idle};
}

void BlockPool::add_owner(BlockId block) {
  Block& entry = at(block);
  VT_CHECK(entry.num_owners > 0 || entry.is_cached, "a free block cannot be shared");
  if (entry.num_owners == 0) unlink_idle(block);
  ++entry.num_owners;
}

void BlockPool::release(BlockId block) {
  Block& entry = at(block);
  VT_CHECK(entry.num_owners > 0, "a block was released more often than it was taken");
  if (--entry.num_owners > 0) return;
  if (entry.is_cached) {
    push_idle(block);
  } else {
    free_.push_back(block);
  }
}

void BlockPool::mark_cached(BlockId block) {
  VT_CHECK(at(block).num_owners > 0, "only a block in use can become cached");
  at(block).is_cached = true;
}

void BlockPool::push_idle(BlockId block) {
  const auto idx = static_cast<std::uint32_t>(block);
  at(block).older = newest_idle_;
  at(block).newer = kNone;
  (newest_idle_ == kNone ? oldest_idle_ : blocks_[newest_idle_].newer) = idx;
  newest_idle_ = idx;
  ++num_idle_;
}

void BlockPool::unlink_idle(BlockId block) {
  Block& entry = at(block);
  (entry.older == kNone ? oldest_idle_ : blocks_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_idle_ : blocks_[entry.newer].older) = entry.older;
  entry.newer = entry.older = kNone;
  --num_idle_;
}

BlockId BlockPool::take_oldest_idle() {
  const auto block = static_cast<BlockId>(oldest_idle_);
  unlink_idle(block);
  at(block).is_cached = false;
  return block;
}

std::string BlockPool::check_integrity() const {
  std::vector<int> num_lists(num_blocks(), 0);
  for (const BlockId block : free_) {
    if (at(block).num_owners != 0) return "a free block has an owner";
    if (at(block).is_cached) return "a free block is marked as cached";
    ++num_lists[static_cast<std::size_t>(block)];
  }
  std::size_t idle = 0;
  std::uint32_t older = kNone;
  for (std::uint32_t idx = oldest_idle_; idx != kNone; idx = blocks_[idx].newer) {
    if (blocks_[idx].num_owners != 0) return "an idle block has an owner";
    if (!blocks_[idx].is_cached) return "an idle block is not cached";
    if (blocks_[idx].older != older) return "the list of idle blocks is torn";
    if (++idle > num_blocks()) return "the list of idle blocks is a ring";
    ++num_lists[idx];
    older = idx;
  }
  if (older != newest_idle_ || idle != num_idle_) return "the list of idle blocks ends early";
  for (std::size_t i = 0; i < num_blocks(); ++i) {
    if (num_lists[i] != (blocks_[i].num_owners == 0 ? 1 : 0)) return "a block is lost or in two lists";
  }
  return "";
}

}  // namespace vitrine::kvcache
