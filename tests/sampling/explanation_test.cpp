#include "sampling/explanation.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sampling/sampler.h"

namespace vitrine::sampling {
namespace {

const std::vector<float> kFiveLogits = {2.5F, 1.8F, 1.2F, 0.5F, 0.3F};
const std::vector<double> kFiveShares = {0.4962149866025685, 0.2464130698678867, 0.13523436002914654,
                                         0.0671553957581106, 0.05498218774228778};

Explanation explain(const SamplingParams& params, const std::vector<float>& logits, std::uint64_t step = 0,
                    std::size_t max_candidates = 24) {
  return Sampler(params).explain(logits, {}, step, max_candidates).value_or_throw();
}

TEST(Explanation, FollowsEachCandidateThroughTheChain) {
  SamplingParams params;
  params.seed = 3;
  params.top_k = 4;
  params.top_p = 0.8F;
  const Explanation explanation = explain(params, kFiveLogits);
  ASSERT_EQ(explanation.chain.size(), 2U);
  EXPECT_EQ(explanation.chain[0].name, "top_k");
  EXPECT_EQ(explanation.chain[0].num_survivors, 4U);
  EXPECT_EQ(explanation.chain[1].name, "top_p");
  EXPECT_EQ(explanation.chain[1].num_survivors, 3U);
  const double of_four = kFiveShares[0] + kFiveShares[1] + kFiveShares[2] + kFiveShares[3];
  const double of_three = of_four - kFiveShares[3];
  for (std::size_t i = 0; i < 5; ++i) {
    const ExplainedCandidate& candidate = explanation.candidates[i];
    EXPECT_EQ(candidate.id, static_cast<TokenId>(i));
    EXPECT_NEAR(candidate.probability, kFiveShares[i], 1e-7);
    EXPECT_NEAR(candidate.after[0], i < 4 ? kFiveShares[i] / of_four : 0.0, 1e-6);
    EXPECT_NEAR(candidate.after[1], i < 3 ? kFiveShares[i] / of_three : 0.0, 1e-6);
  }
  EXPECT_FALSE(explanation.candidates[2].cut_by);
  EXPECT_EQ(explanation.candidates[3].cut_by, 1U);
  EXPECT_EQ(explanation.candidates[4].cut_by, 0U);
}

TEST(Explanation, TheDrawLiesInTheShareOfTheChosen) {
  std::mt19937 generator(5);
  std::normal_distribution<float> distribution(0.0F, 2.0F);
  std::vector<float> logits(5000);
  for (float& logit : logits)
    logit = distribution(generator);
  SamplingParams params;
  params.seed = 11;
  params.temperature = 0.8F;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const Explanation explanation = explain(params, logits, step, 3);
    std::vector<float> row = logits;
    EXPECT_EQ(explanation.chosen, Sampler(params).sample(row, {}, step).value_or_throw().id);
    ASSERT_TRUE(explanation.draw);
    EXPECT_LE(explanation.draw->lowest, explanation.draw->uniform + 1e-7);
    EXPECT_GT(explanation.draw->highest, explanation.draw->uniform - 1e-7);
    EXPECT_EQ(explanation.candidates.back().id,
              explanation.rank < 3 ? explanation.candidates[2].id : explanation.chosen);
    const ExplainedCandidate& chosen = explanation.candidates[explanation.rank < 3 ? explanation.rank : 3];
    EXPECT_EQ(chosen.id, explanation.chosen);
    EXPECT_NEAR(chosen.after.back(), explanation.draw->highest - explanation.draw->lowest, 1e-7);
  }
}

TEST(Explanation, GreedyLeavesOneAndDrawsNothing) {
  SamplingParams params;
  params.temperature = 0.0F;
  params.top_p = 0.5F;  // never comes to run
  const Explanation explanation = explain(params, kFiveLogits);
  ASSERT_EQ(explanation.chain.size(), 1U);
  EXPECT_EQ(explanation.chain[0].num_survivors, 1U);
  EXPECT_EQ(explanation.chosen, 0);
  EXPECT_EQ(explanation.rank, 0U);
  EXPECT_FALSE(explanation.draw);
  EXPECT_EQ(explanation.entropy_bits, 0.0);
  EXPECT_EQ(explanation.candidates[1].cut_by, 0U);
}

TEST(Explanation, BannedTokensAreCutAndRanksCountEqualsByTheirId) {
  SamplingParams params;
  params.temperature = 0.0F;
  params.logit_bias = {{1, -100.0F}};
  const Explanation explanation = explain(params, {1.0F, 3.0F, 2.0F, 2.0F});
  EXPECT_EQ(explanation.chosen, 2);
  EXPECT_EQ(explanation.rank, 1U);
  EXPECT_EQ(explanation.chain[0].name, "logit_bias");
  EXPECT_NEAR(explanation.entropy_bits, 0.0, 1e-12);
}

TEST(Explanation, EntropyIsThatOfWhatIsDrawnFrom) {
  SamplingParams params;
  params.seed = 1;
  EXPECT_NEAR(explain(params, {1.0F, 1.0F, 1.0F, 1.0F}).entropy_bits, 2.0, 1e-6);
  params.top_k = 2;
  EXPECT_NEAR(explain(params, {1.0F, 1.0F, 1.0F, 1.0F}).entropy_bits, 1.0, 1e-6);
}

TEST(Explanation, ARowThatGivesNoTokenHasNone) {
  EXPECT_FALSE(Sampler({}).explain(std::vector<float>{std::numeric_limits<float>::quiet_NaN()}, {}, 0, 4));
}

}  // namespace
}  // namespace vitrine::sampling
