#include "kvcache/block_manager.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ranges>

#include "base/check.h"
#include "base/checked.h"

namespace vitrine::kvcache {
namespace {

// Prompts with the same root share their prefixes, so they are of one tenant. Two roots that begin alike only share a
// count.
HolderId holder_of(const PrefixView& prompt) {
  HolderId holder = 0;
  if (!prompt.digests.empty()) std::memcpy(&holder, prompt.digests.front().data(), sizeof holder);
  return holder;
}

}  // namespace

void BlockManager::append_cached(const PrefixView& prompt, std::size_t max_blocks, std::vector<BlockId>& blocks) const {
  const std::size_t num_blocks = std::min(max_blocks, prompt.num_blocks());
  for (std::size_t i = 0; i < num_blocks; ++i) {
    const auto block = index_.find(prompt, i);
    if (!block) return;
    blocks.push_back(*block);
  }
}

std::optional<std::size_t> BlockManager::reserve(BlockTable& table, const Reservation& wanted) {
  VT_CHECK(table.blocks_.empty(), "only an empty table can be filled");
  if (wanted.contiguous) return reserve_run(table, wanted);
  append_cached(wanted.prompt, wanted.max_cached_tokens / kBlockTokens, table.blocks_);
  const std::size_t num_cached = table.blocks_.size();
  const std::size_t num_needed = std::max(base::ceil_div(wanted.num_tokens, kBlockTokens), num_cached);
  const auto is_idle = [this](BlockId block) { return pool_.num_owners(block) == 0; };
  const auto num_idle = static_cast<std::size_t>(std::ranges::count_if(table.blocks_, is_idle));
  if (num_needed - num_cached + num_idle + wanted.headroom_blocks > pool_.num_available()) {
    table.blocks_.clear();
    return std::nullopt;
  }
  // The cached blocks are taken first: an allocation could otherwise evict one of them.
  for (const BlockId block : table.blocks_) {
    pool_.add_owner(block);
  }
  table.num_published_ = num_cached;
  table.holder_ = holder_of(wanted.prompt);
  VT_CHECK(grow(table, wanted.num_tokens), "room was counted before it was taken");
  return num_cached * kBlockTokens;
}

std::optional<std::size_t> BlockManager::reserve_run(BlockTable& table, const Reservation& wanted) {
  const std::size_t num_needed = base::ceil_div(wanted.num_tokens, kBlockTokens);
  table.holder_ = holder_of(wanted.prompt);
  const auto first = pool_.allocate_run(num_needed, table.holder_);
  if (!first) return std::nullopt;
  for (std::size_t i = 0; i < num_needed; ++i)
    table.blocks_.push_back(static_cast<BlockId>(static_cast<std::size_t>(*first) + i));
  return 0;
}

bool BlockManager::grow(BlockTable& table, std::size_t num_tokens) {
  const std::size_t num_needed = base::ceil_div(num_tokens, kBlockTokens);
  if (num_needed <= table.blocks_.size()) return true;
  if (num_needed - table.blocks_.size() > pool_.num_available()) return false;
  while (table.blocks_.size() < num_needed) {
    const auto allocation = pool_.allocate(table.holder_);
    if (allocation->was_cached) index_.forget(allocation->block);
    table.blocks_.push_back(allocation->block);
  }
  return true;
}

void BlockManager::publish(BlockTable& table, const PrefixView& prompt, std::size_t num_computed) {
  const std::size_t num_full = std::min(num_computed / kBlockTokens, prompt.num_blocks());
  for (; table.num_published_ < num_full; ++table.num_published_) {
    const BlockId block = table.blocks_[table.num_published_];
    if (index_.insert(prompt, table.num_published_, block)) pool_.mark_cached(block);
  }
}

void BlockManager::release(BlockTable& table) {
  // Last block first: a prefix without its end is of use, an end without its prefix is not, so ends are evicted first.
  for (const BlockId block : std::views::reverse(table.blocks_)) {
    pool_.release(block);
  }
  table.blocks_.clear();
  table.num_published_ = 0;
}

std::string BlockManager::check_integrity(std::span<const BlockTable* const> tables) const {
  if (auto fault = pool_.check_integrity(); !fault.empty()) return fault;
  if (auto fault = index_.check_integrity(); !fault.empty()) return fault;
  std::vector<std::uint32_t> num_owners(pool_.num_blocks(), 0);
  for (const BlockTable* table : tables) {
    for (const BlockId block : table->blocks()) {
      ++num_owners[static_cast<std::size_t>(block)];
    }
  }
  for (std::size_t i = 0; i < pool_.num_blocks(); ++i) {
    const auto block = static_cast<BlockId>(i);
    if (pool_.num_owners(block) != num_owners[i]) return "a block's owners are not the tables that list it";
    if (pool_.is_cached(block) != index_.contains(block)) return "pool and prefix index disagree on a block";
    if (num_owners[i] > 1 && !pool_.is_cached(block)) return "a block is shared that the prefix index does not know";
  }
  return "";
}

}  // namespace vitrine::kvcache
