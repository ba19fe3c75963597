#include "kvcache/block_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "support/random_seed.h"

namespace vitrine::kvcache {
namespace {

TEST(BlockPool, GivesEveryBlockOnceAndThenNoRoom) {
  BlockPool pool(3);
  EXPECT_EQ(pool.allocate()->block, BlockId{0});
  EXPECT_EQ(pool.allocate()->block, BlockId{1});
  EXPECT_EQ(pool.allocate()->block, BlockId{2});
  EXPECT_FALSE(pool.allocate());
  EXPECT_EQ(pool.num_in_use(), 3);
  EXPECT_EQ(pool.check_integrity(), "");
}

TEST(BlockPool, ReusesTheBlockReleasedLastBeforeTouchingANewOne) {
  BlockPool pool(8);
  pool.allocate();
  const BlockId second = pool.allocate()->block;
  pool.release(second);
  EXPECT_EQ(pool.allocate()->block, second);
  EXPECT_EQ(pool.num_touched(), 2);
}

TEST(BlockPool, KeepsASharedBlockUntilItsLastOwnerLeaves) {
  BlockPool pool(1);
  const BlockId block = pool.allocate()->block;
  pool.add_owner(block);
  pool.release(block);
  EXPECT_FALSE(pool.allocate());
  pool.release(block);
  EXPECT_TRUE(pool.allocate());
}

TEST(BlockPool, EvictsTheIdleBlockReleasedFirstAndOnlyWhenNoneIsFree) {
  BlockPool pool(3);
  const BlockId a = pool.allocate()->block;
  const BlockId b = pool.allocate()->block;
  pool.mark_cached(a);
  pool.mark_cached(b);
  pool.release(b);
  pool.release(a);
  EXPECT_EQ(pool.num_idle(), 2);
  EXPECT_FALSE(pool.allocate()->was_cached);
  const auto evicted = pool.allocate();
  EXPECT_EQ(evicted->block, b);
  EXPECT_TRUE(evicted->was_cached);
  EXPECT_FALSE(pool.is_cached(b));
  EXPECT_EQ(pool.check_integrity(), "");
}

TEST(BlockPool, AnIdleBlockThatFindsAnOwnerIsNotEvicted) {
  BlockPool pool(2);
  const BlockId a = pool.allocate()->block;
  const BlockId b = pool.allocate()->block;
  pool.mark_cached(a);
  pool.mark_cached(b);
  pool.release(a);
  pool.release(b);
  pool.add_owner(a);
  EXPECT_EQ(pool.allocate()->block, b);
  EXPECT_FALSE(pool.allocate());
}

// Fills a block, and leaves it cached and idle.
void cache_one(BlockPool& pool, HolderId holder) {
  const BlockId block = pool.allocate(holder)->block;
  pool.mark_cached(block);
  pool.release(block);
}

TEST(BlockPool, AFloodEvictsTheFloodersOwnBlocks) {
  BlockPool pool(16);
  constexpr HolderId kQuiet = 1;
  constexpr HolderId kFlood = 2;
  for (int i = 0; i < 6; ++i)
    cache_one(pool, kQuiet);
  for (int i = 0; i < 1000; ++i)
    cache_one(pool, kFlood);
  EXPECT_EQ(pool.num_held(kQuiet), 6);
  EXPECT_EQ(pool.num_held(kFlood), 10);
  EXPECT_EQ(pool.check_integrity(), "");
}

TEST(BlockPool, NobodyKeepsMoreThanAnEqualShareFromTheOthers) {
  BlockPool pool(12);
  for (int i = 0; i < 12; ++i)
    cache_one(pool, 1);
  for (int i = 0; i < 100; ++i)
    cache_one(pool, 2 + static_cast<HolderId>(i % 2));
  for (const HolderId holder : {1, 2, 3})
    EXPECT_EQ(pool.num_held(holder), 4) << holder;
}

TEST(BlockPool, BlocksInUseCountToo) {
  BlockPool pool(4);
  cache_one(pool, 1);
  pool.allocate(2);
  pool.allocate(2);
  cache_one(pool, 2);
  EXPECT_TRUE(pool.allocate(3)->was_cached);
  EXPECT_EQ(pool.num_held(1), 1) << "the oldest is not taken from whoever holds less";
}

TEST(BlockPool, GivesTheLowestRunOfFreeNeighbours) {
  BlockPool pool(8);
  EXPECT_EQ(pool.allocate_run(3), BlockId{0});
  EXPECT_EQ(pool.allocate_run(2), BlockId{3});
  for (const unsigned block : {0U, 1U, 2U})
    pool.release(BlockId{block});
  EXPECT_EQ(pool.num_free(), 6);
  EXPECT_FALSE(pool.allocate_run(4)) << "six are free, but three and three";
  EXPECT_EQ(pool.num_free(), 6);
  EXPECT_EQ(pool.allocate_run(3, 7), BlockId{0});
  EXPECT_EQ(pool.num_held(7), 3);
  EXPECT_EQ(pool.allocate_run(3), BlockId{5});
  EXPECT_FALSE(pool.allocate_run(1));
  EXPECT_EQ(pool.num_touched(), 8);
  EXPECT_EQ(pool.check_integrity(), "");
}

TEST(BlockPool, ARunTakesNoBlockThatIsCached) {
  BlockPool pool(4);
  cache_one(pool, 1);
  EXPECT_EQ(pool.num_idle(), 1);
  EXPECT_FALSE(pool.allocate_run(4));
  EXPECT_EQ(pool.allocate_run(3), BlockId{1});
}

TEST(BlockPool, HoldsItsInvariantsOverRandomOperations) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  BlockPool pool(24);
  std::vector<BlockId> owned;  // one entry per ownership
  const auto any_owned = [&] { return random() % owned.size(); };
  for (int i = 0; i < 20'000; ++i) {
    const unsigned operation = random() % 8;
    if (operation < 3) {
      const bool had_room = pool.num_available() > 0;
      const auto allocation = pool.allocate(random() % 4);
      ASSERT_EQ(allocation.has_value(), had_room);
      if (allocation) owned.push_back(allocation->block);
      if (const auto first = random() % 3 == 0 ? pool.allocate_run(2, random() % 4) : std::nullopt) {
        owned.push_back(*first);
        owned.push_back(static_cast<BlockId>(static_cast<unsigned>(*first) + 1));
      }
    } else if (!owned.empty() && operation == 3) {
      const BlockId block = owned[any_owned()];
      pool.add_owner(block);
      owned.push_back(block);
    } else if (!owned.empty() && operation == 4) {
      pool.mark_cached(owned[any_owned()]);
    } else if (!owned.empty()) {
      std::swap(owned[any_owned()], owned.back());
      pool.release(owned.back());
      owned.pop_back();
    }
    ASSERT_EQ(pool.check_integrity(), "") << "after operation " << i;
    std::map<BlockId, std::uint32_t> num_owners;
    for (const BlockId block : owned) {
      ++num_owners[block];
    }
    ASSERT_EQ(pool.num_in_use(), num_owners.size());
    for (const auto& [block, count] : num_owners) {
      ASSERT_EQ(pool.num_owners(block), count);
    }
  }
}

}  // namespace
}  // namespace vitrine::kvcache
