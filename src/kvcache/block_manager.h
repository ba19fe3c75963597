#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "kvcache/block_pool.h"
#include "kvcache/block_table.h"
#include "kvcache/prefix_index.h"

namespace vitrine::kvcache {

// Gives sequences their blocks and shares the prefixes of prompts: the pool and the prefix index behind one door, so
// that they cannot disagree. Integers only, owned by the engine thread. "No room" is a value; the caller preempts.
class BlockManager {
 public:
  explicit BlockManager(std::size_t num_blocks) : pool_(num_blocks), index_(num_blocks) {}

  struct Reservation {
    PrefixView prompt;
    std::size_t max_cached_tokens = 0;  // no more tokens than these are taken from the cache
    std::size_t num_tokens = 0;         // positions that the table must hold
    std::size_t headroom_blocks = 0;    // blocks that must stay available for others
    bool contiguous = false;            // fresh blocks that are neighbours, none from the cache
  };
  // Fills an empty table with the longest cached prefix and fresh blocks; returns the number of cached tokens. nullopt,
  // and nothing is taken, when there is no room.
  std::optional<std::size_t> reserve(BlockTable& table, const Reservation& wanted);
  // Lengthens the table to hold num_tokens positions; false, and nothing is taken, when there is no room.
  bool grow(BlockTable& table, std::size_t num_tokens);
  // Tells the index of the full blocks among the first num_computed tokens of the prompt, all computed as prompt rows.
  void publish(BlockTable& table, const PrefixView& prompt, std::size_t num_computed);
  // Gives every block back; those that the index knows stay cached until room is needed, up to an equal share of each
  // tenant.
  void release(BlockTable& table);

  const BlockPool& pool() const { return pool_; }
  const PrefixIndex& index() const { return index_; }

  // The first invariant that does not hold, in words; empty when all hold. `tables` must be all that exist.
  std::string check_integrity(std::span<const BlockTable* const> tables) const;

 private:
  std::optional<std::size_t> reserve_run(BlockTable& table, const Reservation& wanted);
  // Leading blocks of the prompt that are cached, appended to `blocks` without taking them.
  void append_cached(const PrefixView& prompt, std::size_t max_blocks, std::vector<BlockId>& blocks) const;

  BlockPool pool_;
  PrefixIndex index_;
};

}  // namespace vitrine::kvcache
