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

std::optional<BlockPool::Allocation> BlockPool::allocate(HolderId holder) {
  if (num_available() == 0) return std::nullopt;
  ++holders_[holder].num_held;  // first, so that of equal holders the one who wants more gives one up
  const bool from_idle = free_.empty();
  const BlockId block = from_idle ? evict() : free_.back();
  if (!from_idle) free_.pop_back();
  at(block).num_owners = 1;
  at(block).holder = holder;
  num_touched_ = std::max(num_touched_, static_cast<std::size_t>(block) + 1);
  return Allocation{block, from_idle};
}

std::optional<BlockId> BlockPool::allocate_run(std::size_t count, HolderId holder) {
  VT_CHECK(count > 0, "a run has at least one block");
  std::size_t length = 0;  // of the run of free blocks that ends here
  std::size_t end = 0;
  while (end < num_blocks() && length < count) {
    length = is_free(static_cast<BlockId>(end)) ? length + 1 : 0;
    ++end;
  }
  if (length < count) return std::nullopt;
  const std::size_t begin = end - count;
  for (std::size_t i = begin; i < end; ++i) {
    blocks_[i].num_owners = 1;
    blocks_[i].holder = holder;
  }
  std::erase_if(free_, [this](BlockId block) { return num_owners(block) > 0; });
  holders_[holder].num_held += count;
  num_touched_ = std::max(num_touched_, end);
  return static_cast<BlockId>(begin);
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
    give_up(entry.holder);
  }
}

void BlockPool::give_up(HolderId holder) {
  const auto place = holders_.find(holder);
  if (--place->second.num_held == 0) holders_.erase(place);
}

std::size_t BlockPool::num_held(HolderId holder) const {
  const auto place = holders_.find(holder);
  return place == holders_.end() ? 0 : place->second.num_held;
}

void BlockPool::mark_cached(BlockId block) {
  VT_CHECK(at(block).num_owners > 0, "only a block in use can become cached");
  at(block).is_cached = true;
}

void BlockPool::push_idle(BlockId block) {
  const auto idx = static_cast<std::uint32_t>(block);
  Block& entry = at(block);
  Holder& holder = holders_.at(entry.holder);
  entry.older = holder.newest_idle;
  entry.newer = kNone;
  entry.idle_since = ++num_released_;
  (holder.newest_idle == kNone ? holder.oldest_idle : blocks_[holder.newest_idle].newer) = idx;
  holder.newest_idle = idx;
  ++num_idle_;
}

void BlockPool::unlink_idle(BlockId block) {
  Block& entry = at(block);
  Holder& holder = holders_.at(entry.holder);
  (entry.older == kNone ? holder.oldest_idle : blocks_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? holder.newest_idle : blocks_[entry.newer].older) = entry.older;
  entry.newer = entry.older = kNone;
  --num_idle_;
}

bool BlockPool::goes_before(const Holder& a, const Holder& b) const {
  if (a.num_held != b.num_held) return a.num_held > b.num_held;
  return blocks_[a.oldest_idle].idle_since < blocks_[b.oldest_idle].idle_since;
}

BlockId BlockPool::evict() {
  const Holder* from = nullptr;
  for (const auto& [id, holder] : holders_) {
    if (holder.oldest_idle != kNone && (from == nullptr || goes_before(holder, *from))) from = &holder;
  }
  VT_CHECK(from != nullptr, "an idle block was counted that nobody holds");
  const auto block = static_cast<BlockId>(from->oldest_idle);
  unlink_idle(block);
  at(block).is_cached = false;
  give_up(at(block).holder);
  return block;
}

std::string BlockPool::check_integrity() const {
  std::vector<int> num_lists(num_blocks(), 0);
  for (const BlockId block : free_) {
    if (at(block).num_owners != 0) return "a free block has an owner";
    if (at(block).is_cached) return "a free block is marked as cached";
    ++num_lists[static_cast<std::size_t>(block)];
  }
  if (auto fault = check_holders(num_lists); !fault.empty()) return fault;
  for (std::size_t i = 0; i < num_blocks(); ++i) {
    if (num_lists[i] != (blocks_[i].num_owners == 0 ? 1 : 0)) return "a block is lost or in two lists";
  }
  return "";
}

std::string BlockPool::check_holders(std::vector<int>& num_lists) const {
  std::size_t num_listed = 0;
  std::size_t num_held = 0;
  for (const auto& [id, holder] : holders_) {
    num_held += holder.num_held;
    std::uint32_t older = kNone;
    for (std::uint32_t idx = holder.oldest_idle; idx != kNone; idx = blocks_[idx].newer) {
      if (blocks_[idx].num_owners != 0) return "an idle block has an owner";
      if (!blocks_[idx].is_cached) return "an idle block is not cached";
      if (blocks_[idx].holder != id) return "an idle block is in another holder's list";
      if (blocks_[idx].older != older) return "the list of idle blocks is torn";
      if (++num_listed > num_blocks()) return "the list of idle blocks is a ring";
      ++num_lists[idx];
      older = idx;
    }
    if (older != holder.newest_idle) return "the list of idle blocks ends early";
  }
  if (num_listed != num_idle_) return "an idle block is in no list";
  if (num_held != num_blocks() - num_free()) return "the blocks of all holders are not those that are taken";
  return "";
}

}  // namespace vitrine::kvcache
