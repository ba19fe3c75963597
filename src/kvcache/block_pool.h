#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kvcache/block_id.h"

namespace vitrine::kvcache {

// Which blocks of the KV cache are in use, by count of owners; it never touches their contents. A block is
//   free    no owner and nothing worth keeping,
//   in use  owned by one or more sequences,
//   idle    no owner, but marked as cached: kept until room is needed.
// Room is taken from the holder of the most blocks, least recently released first: whoever floods the cache drives out
// what is its own, and others keep what they have up to an equal share. Integers only, owned by the engine thread. "No
// room" is a value; a wrong release is our own bug (VT_CHECK).
class BlockPool {
 public:
  explicit BlockPool(std::size_t num_blocks);

  struct Allocation {
    BlockId block;
    bool was_cached;  // an idle block was taken: what the prefix index knows about it no longer holds
  };
  // A block with one owner: a free one (the one released last first, so that few pages of memory are touched), else an
  // idle one. nullopt when every block is in use.
  std::optional<Allocation> allocate(HolderId holder = 0);
  // The first of `count` (at least 1) free blocks that are neighbours, each with one owner from now on; the lowest such
  // run. nullopt when there is none, however many blocks are free apart from each other. Linear in the number of
  // blocks.
  std::optional<BlockId> allocate_run(std::size_t count, HolderId holder = 0);

  // One owner more, of a block that is in use or idle.
  void add_owner(BlockId block);
  // One owner less; the last one makes the block idle if it is cached, else free.
  void release(BlockId block);
  // From now on the block becomes idle instead of free. It must be in use.
  void mark_cached(BlockId block);

  std::size_t num_blocks() const { return blocks_.size(); }
  std::size_t num_free() const { return free_.size(); }
  std::size_t num_idle() const { return num_idle_; }
  std::size_t num_available() const { return num_free() + num_idle(); }
  std::size_t num_in_use() const { return num_blocks() - num_available(); }
  // Blocks that have ever been given out: the others take no memory yet.
  std::size_t num_touched() const { return num_touched_; }
  // In use and idle.
  std::size_t num_held(HolderId holder) const;
  std::uint32_t num_owners(BlockId block) const { return at(block).num_owners; }
  bool is_cached(BlockId block) const { return at(block).is_cached; }
  bool is_free(BlockId block) const { return num_owners(block) == 0 && !is_cached(block); }

  // The first invariant that does not hold, in words; empty when all hold. Linear in the number of blocks.
  std::string check_integrity() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Block {
    std::uint32_t num_owners = 0;
    bool is_cached = false;
    std::uint32_t newer = kNone;  // neighbours in the list of the holder's idle blocks
    std::uint32_t older = kNone;
    HolderId holder = 0;
    std::uint64_t idle_since = 0;  // counts releases
  };
  struct Holder {
    std::size_t num_held = 0;
    std::uint32_t oldest_idle = kNone;
    std::uint32_t newest_idle = kNone;
  };

  Block& at(BlockId block) { return blocks_[static_cast<std::size_t>(block)]; }
  const Block& at(BlockId block) const { return blocks_[static_cast<std::size_t>(block)]; }
  void push_idle(BlockId block);
  void unlink_idle(BlockId block);
  BlockId evict();
  void give_up(HolderId holder);
  // Whether room is to be taken from `a` rather than from `b`; both have idle blocks.
  bool goes_before(const Holder& a, const Holder& b) const;
  std::string check_holders(std::vector<int>& num_lists) const;

  std::vector<Block> blocks_;
  std::vector<BlockId> free_;                     // a stack
  std::unordered_map<HolderId, Holder> holders_;  // of at least one block
  std::size_t num_idle_ = 0;
  std::uint64_t num_released_ = 0;
  std::size_t num_touched_ = 0;
};

}  // namespace vitrine::kvcache
