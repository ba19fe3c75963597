#include "tokenizer/merge_engine.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/random_seed.h"

namespace vitrine::tokenizer {
namespace {

// Random merges over few symbols; ranks may be shared, and a merge may enable one of lower rank.
MergeTable random_merges(std::mt19937& random, TokenId num_symbols) {
  MergeTable merges;
  TokenId next = num_symbols;
  std::uniform_int_distribution<std::uint32_t> rank(0, 12);
  for (int i = 0; i < 30; ++i) {
    std::uniform_int_distribution<TokenId> any(0, next - 1);
    merges.insert(any(random), any(random), {rank(random), next});
    ++next;
  }
  return merges;
}

TEST(ApplyMerges, BucketsGiveWhatScansGive) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const MergeTable merges = random_merges(random, 3);
    std::uniform_int_distribution<TokenId> any(0, 2);
    std::vector<Symbol> scanned(random() % 80);
    for (Symbol& symbol : scanned)
      symbol = {any(random), 1};
    std::vector<Symbol> bucketed = scanned;
    apply_merges_by_scan(merges, scanned);
    apply_merges_by_rank(merges, bucketed);
    ASSERT_EQ(scanned, bucketed);
  }
}

TEST(ApplyMerges, TakesTheLowestRankThenTheLeftmost) {
  MergeTable merges;
  merges.insert(0, 1, {5, 10});
  merges.insert(1, 2, {3, 11});
  std::vector<Symbol> symbols = {{0, 1}, {1, 1}, {2, 1}, {0, 1}, {1, 1}};
  apply_merges(merges, symbols);
  EXPECT_EQ(symbols.size(), 3u);
  EXPECT_EQ(symbols[1], (Symbol{11, 2}));
  EXPECT_EQ(symbols[2], (Symbol{10, 2}));
}

TEST(ApplyMerges, LeavesNothingAsItIs) {
  std::vector<Symbol> none;
  apply_merges(MergeTable(), none);
  apply_merges_by_rank(MergeTable(), none);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace vitrine::tokenizer
