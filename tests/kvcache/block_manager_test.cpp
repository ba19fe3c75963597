#include "kvcache/block_manager.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "support/random_seed.h"

namespace vitrine::kvcache {
namespace {

std::vector<TokenId> counting_tokens(std::size_t count, TokenId first = 0) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// A prompt with its digests, and the table of the sequence that runs it.
struct Prompt {
  explicit Prompt(std::vector<TokenId> ids, std::string_view salt = "")
      : tokens(std::move(ids)), digests(prefix_digests(prefix_root("seed", salt), tokens)) {}

  PrefixView view() const { return {tokens, digests}; }
  std::optional<std::size_t> reserve(BlockManager& manager) {
    return manager.reserve(table, {view(), tokens.size() - 1, tokens.size(), 0});
  }
  void compute(BlockManager& manager) { manager.publish(table, view(), tokens.size()); }

  std::vector<TokenId> tokens;
  std::vector<PrefixDigest> digests;
  BlockTable table;
};

void run_to_end(BlockManager& manager, Prompt& prompt) {
  ASSERT_TRUE(prompt.reserve(manager));
  prompt.compute(manager);
  manager.release(prompt.table);
}

TEST(BlockManager, FindsTheLongestCachedPrefixInWholeBlocks) {
  BlockManager manager(16);
  Prompt first(counting_tokens(70));
  run_to_end(manager, first);
  auto changed = first.tokens;
  changed[40] = 999;
  Prompt second(changed);
  EXPECT_EQ(second.reserve(manager), 32);
  EXPECT_EQ(second.table.blocks().size(), 5);
}

TEST(BlockManager, NeverServesTheLastTokenOfAPromptFromTheCache) {
  BlockManager manager(16);
  Prompt first(counting_tokens(64));
  run_to_end(manager, first);
  Prompt again(first.tokens);
  EXPECT_EQ(again.reserve(manager), 48);
}

TEST(BlockManager, SharesBlocksBetweenRunningSequences) {
  BlockManager manager(6);
  Prompt first(counting_tokens(65));
  ASSERT_TRUE(first.reserve(manager));
  first.compute(manager);
  Prompt second(first.tokens);
  EXPECT_EQ(second.reserve(manager), 64);
  EXPECT_EQ(second.table.blocks()[3], first.table.blocks()[3]);
  EXPECT_NE(second.table.blocks()[4], first.table.blocks()[4]);
  const std::vector<const BlockTable*> tables = {&first.table, &second.table};
  EXPECT_EQ(manager.check_integrity(tables), "");
}

TEST(BlockManager, KeepsTenantsApart) {
  BlockManager manager(16);
  Prompt alice(counting_tokens(64), "alice");
  run_to_end(manager, alice);
  Prompt bob(alice.tokens, "bob");
  EXPECT_EQ(bob.reserve(manager), 0);
  EXPECT_EQ(manager.index().explain(bob.view()).reason, PrefixExplanation::Reason::kNothingFollows);
}

TEST(BlockManager, DoesNotPublishABlockThatIsNotFull) {
  BlockManager manager(16);
  Prompt first(counting_tokens(40));
  ASSERT_TRUE(first.reserve(manager));
  manager.publish(first.table, first.view(), 31);
  EXPECT_EQ(manager.index().num_entries(), 1);
  manager.publish(first.table, first.view(), 40);
  EXPECT_EQ(manager.index().num_entries(), 2);
}

TEST(BlockManager, TakesNothingWhenThereIsNoRoom) {
  BlockManager manager(4);
  Prompt first(counting_tokens(48));
  ASSERT_TRUE(first.reserve(manager));
  Prompt second(counting_tokens(32, 500));
  EXPECT_FALSE(second.reserve(manager));
  EXPECT_TRUE(second.table.blocks().empty());
  EXPECT_FALSE(manager.grow(first.table, 65));
  EXPECT_EQ(first.table.blocks().size(), 3);
  EXPECT_TRUE(manager.grow(first.table, 64));
}

TEST(BlockManager, CountsIdleBlocksThatItWillShareAsTaken) {
  BlockManager manager(4);
  Prompt first(counting_tokens(64));
  run_to_end(manager, first);
  Prompt second(counting_tokens(65));  // four cached blocks and a fifth that does not exist
  EXPECT_FALSE(second.reserve(manager));
  EXPECT_EQ(manager.pool().num_idle(), 4);
}

TEST(BlockManager, EvictsTheEndOfAPromptBeforeItsBeginning) {
  BlockManager manager(4);
  Prompt first(counting_tokens(64));
  run_to_end(manager, first);
  Prompt other(counting_tokens(32, 500));
  run_to_end(manager, other);
  Prompt again(first.tokens);
  EXPECT_EQ(again.reserve(manager), 32);
}

TEST(BlockManager, ExplainsAMissByTheFirstTokenThatDiffers) {
  BlockManager manager(16);
  Prompt first(counting_tokens(64));
  run_to_end(manager, first);
  auto changed = first.tokens;
  changed[37] = 999;
  const auto answer = manager.index().explain(Prompt(changed).view());
  EXPECT_EQ(answer.reason, PrefixExplanation::Reason::kTokenDiffers);
  EXPECT_EQ(answer.num_cached_tokens, 32);
  EXPECT_EQ(answer.position, 37);
  EXPECT_EQ(answer.cached_token, 37);
  EXPECT_EQ(answer.requested_token, 999);
}

TEST(BlockManager, ExplainsAHitAndTheEndOfWhatIsCached) {
  using enum PrefixExplanation::Reason;
  BlockManager manager(16);
  Prompt first(counting_tokens(64));
  run_to_end(manager, first);
  EXPECT_EQ(manager.index().explain(Prompt(counting_tokens(70)).view()).reason, kWholeBlocksCached);
  const auto longer = manager.index().explain(Prompt(counting_tokens(90)).view());
  EXPECT_EQ(longer.reason, kNothingFollows);
  EXPECT_EQ(longer.num_cached_tokens, 64);
}

TEST(PrefixRoot, CannotBeForgedByMovingBytesBetweenSeedAndSalt) {
  EXPECT_NE(prefix_root("ab", "c"), prefix_root("a", "bc"));
}

TEST(PrefixIndex, DoesNotTrustADigestWhoseTokensDiffer) {
  PrefixIndex index(2);
  const Prompt first(counting_tokens(16));
  ASSERT_TRUE(index.insert(first.view(), 0, BlockId{0}));
  const auto other_tokens = counting_tokens(16, 7);
  EXPECT_FALSE(index.find(PrefixView{other_tokens, first.digests}, 0));
}

// Random sequences over few distinct prompts, so that sharing, eviction and lack of room all happen. `contents` plays
// the memory of the blocks: what was written where must still be there when it is served.
class BlockManagerSimulation {
 public:
  explicit BlockManagerSimulation(unsigned seed) : random_(seed) {}

  void step() {
    const unsigned operation = random_() % 4;
    if (operation == 0 || sequences_.empty()) {
      start();
    } else if (operation == 1) {
      finish(random_() % sequences_.size());
    } else {
      advance(random_() % sequences_.size());
    }
  }
  std::string fault() const {
    std::vector<const BlockTable*> tables;
    for (const auto& sequence : sequences_) {
      tables.push_back(&sequence->prompt.table);
    }
    return manager_.check_integrity(tables);
  }
  std::size_t num_cached_tokens() const { return num_cached_tokens_; }

 private:
  struct Sequence {
    Prompt prompt;
    std::size_t num_computed = 0;
    std::size_t num_tokens = 0;
  };

  std::vector<TokenId> random_prompt() {
    auto tokens = counting_tokens(1 + random_() % 100, static_cast<TokenId>(random_() % 3));
    if (random_() % 2 == 0) tokens[random_() % tokens.size()] = 1000;
    return tokens;
  }

  void start() {
    auto sequence = std::make_unique<Sequence>(Sequence{Prompt(random_prompt(), random_() % 2 == 0 ? "a" : "b")});
    const auto cached = sequence->prompt.reserve(manager_);
    if (!cached) return;
    num_cached_tokens_ += *cached;
    sequence->num_computed = *cached;
    sequence->num_tokens = sequence->prompt.tokens.size();
    for (std::size_t position = 0; position < *cached; ++position) {
      ASSERT_EQ(slot(*sequence, position), sequence->prompt.tokens[position]);
    }
    sequences_.push_back(std::move(sequence));
  }
  void advance(std::size_t sequence_idx) {
    Sequence& sequence = *sequences_[sequence_idx];
    Prompt& prompt = sequence.prompt;
    const std::size_t end = sequence.num_computed + 1 + random_() % 30;
    if (!manager_.grow(prompt.table, end)) return;
    for (; sequence.num_computed < end; ++sequence.num_computed) {
      const std::size_t position = sequence.num_computed;
      ASSERT_FALSE(manager_.index().contains(prompt.table.blocks()[position / kBlockTokens]))
          << "a cached block is written";
      slot(sequence, position) = position < prompt.tokens.size() ? prompt.tokens[position] : -1;
    }
    manager_.publish(prompt.table, prompt.view(), std::min(end, prompt.tokens.size()));
  }
  void finish(std::size_t sequence_idx) {
    std::swap(sequences_[sequence_idx], sequences_.back());
    manager_.release(sequences_.back()->prompt.table);
    sequences_.pop_back();
  }
  TokenId& slot(const Sequence& sequence, std::size_t position) {
    const auto block = static_cast<std::size_t>(sequence.prompt.table.blocks()[position / kBlockTokens]);
    return contents_[block * kBlockTokens + position % kBlockTokens];
  }

  static constexpr std::size_t kNumBlocks = 30;
  std::mt19937 random_;
  BlockManager manager_{kNumBlocks};
  std::vector<TokenId> contents_ = std::vector<TokenId>(kNumBlocks * kBlockTokens, -2);
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::size_t num_cached_tokens_ = 0;
};

TEST(BlockManager, HoldsItsInvariantsOverRandomSequences) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  BlockManagerSimulation simulation(seed);
  for (int i = 0; i < 10'000; ++i) {
    simulation.step();
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
    ASSERT_EQ(simulation.fault(), "") << "after operation " << i;
  }
  EXPECT_GT(simulation.num_cached_tokens(), 1000);
}

}  // namespace
}  // namespace vitrine::kvcache
