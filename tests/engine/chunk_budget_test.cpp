#include "engine/chunk_budget.h"

#include <gtest/gtest.h>

namespace vitrine::engine {
namespace {

// A machine on which a step takes 1 ms for each answer and 2 ms for each prompt row.
void run(ChunkBudget& budget, std::size_t num_answers, std::size_t num_prompt_rows) {
  budget.observe(num_answers, num_prompt_rows, 1e-3 * static_cast<double>(num_answers + 2 * num_prompt_rows));
}

TEST(ChunkBudget, APromptTakesLessTimeThanTheAnswersBesideIt) {
  ChunkBudget budget(512, 0.0);
  run(budget, 0, 512);
  run(budget, 100, 0);
  EXPECT_EQ(budget.tokens(100, 1), 40U);  // 80 ms of 2 ms each
  EXPECT_EQ(budget.tokens(50, 1), 20U);
}

TEST(ChunkBudget, AWantedGapGivesWhatIsLeftOfIt) {
  ChunkBudget budget(512, 0.301);
  run(budget, 0, 512);
  run(budget, 100, 0);
  EXPECT_EQ(budget.tokens(100, 1), 100U);
  EXPECT_EQ(budget.tokens(251, 1), 100U) << "the share of their own time is more";
}

TEST(ChunkBudget, EachOfManyPromptsGetsTheSameShareUpToABound) {
  ChunkBudget budget(512, 0.0);
  run(budget, 0, 512);
  run(budget, 50, 0);
  EXPECT_EQ(budget.tokens(50, 1), 20U);
  EXPECT_EQ(budget.tokens(50, 3), 60U);
  EXPECT_EQ(budget.tokens(50, 100), 75U) << "150 ms are left of the longest gap";
  run(budget, 190, 0);
  EXPECT_EQ(budget.tokens(190, 100), 76U) << "never less than one alone gets";
}

TEST(ChunkBudget, StaysWithinItsBounds) {
  ChunkBudget budget(512, 0.0);
  EXPECT_EQ(budget.tokens(1, 1), ChunkBudget::kFirstTokens);
  EXPECT_EQ(ChunkBudget(8, 0.0).tokens(1, 1), 8U);
  run(budget, 0, 512);
  run(budget, 1, 0);
  EXPECT_EQ(budget.tokens(1, 1), ChunkBudget::kMinTokens);
  EXPECT_EQ(budget.tokens(100'000, 1), 512U);
  budget.observe(0, 512, 0.0);  // a clock that stood still
  EXPECT_LE(budget.tokens(1, 1), 512U);
}

TEST(ChunkBudget, LooksAtTheAnswersAloneNowAndThen) {
  ChunkBudget budget(512, 0.0);
  run(budget, 0, 512);
  run(budget, 100, 0);
  for (std::size_t i = 0; i < ChunkBudget::kLookInterval; ++i) {
    ASSERT_GT(budget.tokens(100, 1), 0U);
    run(budget, 100, 40);
  }
  EXPECT_EQ(budget.tokens(100, 1), 0U);
  run(budget, 100, 0);
  EXPECT_EQ(budget.tokens(100, 1), 40U);
}

TEST(ChunkBudget, FollowsAMachineThatSlowsDown) {
  ChunkBudget budget(512, 0.0);
  run(budget, 0, 512);
  run(budget, 100, 0);
  for (int i = 0; i < 64; ++i) {
    const std::size_t rows = budget.tokens(100, 1);
    budget.observe(100, rows, 0.1 + 5e-3 * static_cast<double>(rows));
  }
  EXPECT_EQ(budget.tokens(100, 1), ChunkBudget::kMinTokens);
}

}  // namespace
}  // namespace vitrine::engine
