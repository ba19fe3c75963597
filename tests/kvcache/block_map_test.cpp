#include "kvcache/block_map.h"

#include <gtest/gtest.h>

namespace vitrine::kvcache {
namespace {

TEST(BlockMap, MarksEachBlockByItsOwners) {
  BlockPool pool(5);
  const BlockId own = pool.allocate()->block;
  const BlockId published = pool.allocate()->block;
  const BlockId shared = pool.allocate()->block;
  const BlockId kept = pool.allocate()->block;
  pool.mark_cached(published);
  pool.add_owner(shared);
  pool.mark_cached(kept);
  pool.release(kept);
  std::string expected(5, '.');
  expected[static_cast<std::size_t>(own)] = 'o';
  expected[static_cast<std::size_t>(published)] = 'p';
  expected[static_cast<std::size_t>(shared)] = 's';
  expected[static_cast<std::size_t>(kept)] = 'c';
  EXPECT_EQ(block_map(pool), expected);
}

}  // namespace
}  // namespace vitrine::kvcache
