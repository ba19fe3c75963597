#include "sampling/sampler.h"

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace vitrine::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> gaussian_row(std::size_t size, std::uint32_t seed, float deviation = 4.0F) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0.0F, deviation);
  std::vector<float> row(size);
  for (float& logit : row)
    logit = distribution(generator);
  return row;
}

Sampled sample(const SamplingParams& params, std::vector<float> logits, std::uint64_t step = 0,
               const std::vector<TokenId>& history = {}) {
  auto sampled = Sampler(params).sample(logits, history, step);
  EXPECT_TRUE(sampled);
  return *std::move(sampled);
}

std::vector<double> probabilities(const SamplingParams& params, std::vector<float> logits,
                                  const std::vector<TokenId>& history = {}) {
  const auto candidates = Sampler(params).candidates(logits, history, 0, logits.size());
  EXPECT_TRUE(candidates);
  std::vector<double> result(logits.size(), 0.0);
  for (const Candidate& candidate : *candidates) {
    result[static_cast<std::size_t>(candidate.id)] = static_cast<double>(candidate.probability);
  }
  return result;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& wanted) {
  ASSERT_EQ(actual.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(actual[i], wanted[i], 1e-6) << i;
}

const std::vector<float> kFour = {1.0F, 4.0F, 2.0F, 3.5F};
const std::vector<double> kFourSoftmax = {0.027788343, 0.558143789, 0.075536548, 0.33853132};

TEST(Bug076, ATinyTemperatureIsGreedyAndDoesNotOverflow) {
  SamplingParams params;
  params.temperature = 0.0001F;
  expect_near(probabilities(params, kFour), {0, 1, 0, 0});
  EXPECT_EQ(sample(params, kFour).id, 1);
}

TEST(Bug078, TopKZeroSwitchesTheFilterOff) {
  SamplingParams params;
  params.top_k = 0;
  expect_near(probabilities(params, kFour), kFourSoftmax);
}

TEST(Bug080, TopPZeroKeepsTheBestToken) {
  SamplingParams params;
  params.top_p = 0.0F;
  expect_near(probabilities(params, kFour), {0, 1, 0, 0});
}

TEST(Bug082, APenaltyWindowOfZeroSwitchesThePenaltyOff) {
  SamplingParams params;
  params.repetition_penalty = 1.5F;
  params.repeat_last_n = 0;
  expect_near(probabilities(params, kFour, {1, 1, 1}), kFourSoftmax);
}

TEST(Bug084, AllLogitsNanIsAnErrorAndNoToken) {
  std::vector<float> logits(4, kNan);
  const auto sampled = Sampler({}).sample(logits, {}, 0);
  ASSERT_FALSE(sampled);
  EXPECT_NE(sampled.error().message.find("numerical error"), std::string::npos);
}

TEST(Bug088, ASeededRequestIsTheSameWhateverRunsBesideIt) {
  SamplingParams params;
  params.seed = 42;
  params.temperature = 0.8F;
  const Sampler alone(params);
  const Sampler seeded(params);
  const Sampler neighbour({});
  for (std::uint64_t step = 0; step < 50; ++step) {
    std::vector<float> row = gaussian_row(500, static_cast<std::uint32_t>(step));
    std::vector<float> copy = row;
    std::vector<float> other = row;
    ASSERT_TRUE(neighbour.sample(other, {}, step));
    EXPECT_EQ(seeded.sample(row, {}, step)->id, alone.sample(copy, {}, step)->id);
  }
}

TEST(Sampler, OneBadLogitAnywhereIsAnError) {
  for (const float bad : {kNan, -kNan, kInfinity}) {
    for (const std::size_t position : {0U, 1023U, 1024U, 2999U}) {
      std::vector<float> logits = gaussian_row(3000, 1);
      logits[position] = bad;
      EXPECT_FALSE(Sampler({}).sample(logits, {}, 0)) << bad << " at " << position;
    }
  }
}

TEST(Sampler, MinusInfinityIsNeverChosen) {
  std::vector<float> logits(5000, -kInfinity);
  logits[4321] = -1e30F;
  for (std::uint64_t step = 0; step < 20; ++step)
    EXPECT_EQ(sample({}, logits, step).id, 4321);
}

TEST(Sampler, EveryLogitMinusInfinityIsAnError) {
  std::vector<float> logits(10, -kInfinity);
  EXPECT_FALSE(Sampler({}).sample(logits, {}, 0));
}

TEST(Sampler, AnEmptyRowIsAnError) {
  EXPECT_FALSE(Sampler({}).sample({}, {}, 0));
}

TEST(Sampler, BansThatLeaveNoTokenAreAnError) {
  SamplingParams params;
  params.no_repeat_ngram_size = 1;
  std::vector<float> logits(3, 0.0F);
  EXPECT_FALSE(Sampler(params).sample(logits, std::vector<TokenId>{0, 1, 2}, 0));
}

TEST(Sampler, GreedyTakesTheFirstOfEqualLogits) {
  SamplingParams params;
  params.temperature = 0.0F;
  std::vector<float> logits(4000, -1.0F);
  logits[1500] = -0.0F;
  logits[1501] = 0.0F;
  logits[3500] = 0.0F;
  EXPECT_EQ(sample(params, logits).id, 1500);
}

TEST(Sampler, GreedySeesPenaltiesAndBiases) {
  SamplingParams params;
  params.temperature = 0.0F;
  params.presence_penalty = 1.0F;
  EXPECT_EQ(sample(params, kFour, 0, {1}).id, 3);
  params.logit_bias = {{0, 5.0F}};
  EXPECT_EQ(sample(params, kFour, 0, {1}).id, 0);
}

TEST(Sampler, HistoryMayNameTokensOutsideTheRow) {
  SamplingParams params;
  params.repetition_penalty = 1.3F;
  params.frequency_penalty = 0.5F;
  params.no_repeat_ngram_size = 2;
  params.dry_multiplier = 1.0F;
  sample(params, kFour, 0, {-7, 99999, 1, -7, 99999, 1, -7});
}

TEST(Sampler, APenaltyNeverMakesALogitInfinite) {
  SamplingParams params;
  params.repetition_penalty = 0.01F;
  EXPECT_EQ(sample(params, {3e38F, 1.0F}, 0, {0}).id, 0);
}

TEST(Sampler, TypicalPZeroKeepsTheTokenNearestToTheEntropy) {
  SamplingParams params;
  params.typical_p = 0.0F;
  std::vector<float> row(1000, 0.0F);
  row[7] = 7.5F;  // every surprise is further than 1 from the entropy, so the first look finds nothing
  EXPECT_EQ(sample(params, row).id, 7);
  EXPECT_EQ(sample(params, std::vector<float>(40, 0.0F)).id, 0);
}

TEST(Sampler, FrequenciesFollowTheProbabilities) {
  SamplingParams params;
  params.seed = 7;
  constexpr int kNumSteps = 20000;
  std::vector<int> counts(4);
  for (std::uint64_t step = 0; step < kNumSteps; ++step)
    ++counts[static_cast<std::size_t>(sample(params, kFour, step).id)];
  for (std::size_t i = 0; i < 4; ++i) {
    const double deviation = std::sqrt(kFourSoftmax[i] * (1 - kFourSoftmax[i]) / kNumSteps);
    EXPECT_NEAR(static_cast<double>(counts[i]) / kNumSteps, kFourSoftmax[i], 5 * deviation) << i;
  }
}

TEST(Sampler, WithoutASeedTwoRequestsDrawTheirOwn) {
  EXPECT_NE(Sampler({}).seed(), Sampler({}).seed());
}

TEST(Sampler, LogprobsAreThoseOfTheModelBeforeTheChain) {
  SamplingParams params;
  params.temperature = 0.0F;
  params.logit_bias = {{2, 50.0F}};
  params.logprobs = true;
  params.top_logprobs = 2;
  const Sampled sampled = sample(params, kFour);
  EXPECT_EQ(sampled.id, 2);
  EXPECT_NEAR(sampled.logprob, std::log(kFourSoftmax[2]), 1e-6);
  ASSERT_EQ(sampled.top_logprobs.size(), 2U);
  EXPECT_EQ(sampled.top_logprobs[0].id, 1);
  EXPECT_NEAR(sampled.top_logprobs[0].logprob, std::log(kFourSoftmax[1]), 1e-6);
  EXPECT_EQ(sampled.top_logprobs[1].id, 3);
}

TEST(Sampler, LogprobIsNanWhenNotAsked) {
  EXPECT_TRUE(std::isnan(sample({}, kFour).logprob));
}

TEST(Sampler, CandidatesAreSortedAndLimited) {
  std::vector<float> logits = kFour;
  const auto candidates = Sampler({}).candidates(logits, {}, 0, 2);
  ASSERT_TRUE(candidates);
  ASSERT_EQ(candidates->size(), 2U);
  EXPECT_EQ((*candidates)[0].id, 1);
  EXPECT_EQ((*candidates)[1].id, 3);
}

TEST(Sampler, XtcActsAsOftenAsItsProbabilitySays) {
  SamplingParams params;
  params.seed = 3;
  params.xtc_probability = 0.25F;
  params.xtc_threshold = 0.1F;
  const Sampler sampler(params);
  int num_acted = 0;
  for (std::uint64_t step = 0; step < 4000; ++step) {
    std::vector<float> logits = kFour;
    num_acted += (*sampler.candidates(logits, {}, step, 1))[0].id != 1;
  }
  EXPECT_NEAR(num_acted / 4000.0, 0.25, 0.035);
}

TEST(Sampler, TakesThePeakWhereNothingElseCounts) {
  std::vector<float> logits = {0.5F, 3.0F, -1.0F, 3.0F};
  const auto takes = [&](const auto& change) {
    SamplingParams params;
    params.temperature = 0.0F;
    change(params);
    const Sampler sampler(params);
    if (sampler.takes_peak()) {
      std::vector<float> row = logits;
      EXPECT_EQ(sampler.choose(find_peak(logits))->id, sampler.sample(row, {}, 0)->id);
    }
    return sampler.takes_peak();
  };
  EXPECT_TRUE(takes([](SamplingParams&) {}));
  EXPECT_TRUE(takes([](SamplingParams& params) { params.top_p = 0.5F; }));
  EXPECT_FALSE(takes([](SamplingParams& params) { params.temperature = 0.5F; }));
  EXPECT_FALSE(takes([](SamplingParams& params) { params.temperature = 1.0F; }));
  EXPECT_FALSE(takes([](SamplingParams& params) { params.logprobs = true; }));
  EXPECT_FALSE(takes([](SamplingParams& params) { params.logit_bias = {{1, -5.0F}}; }));
  EXPECT_FALSE(takes([](SamplingParams& params) { params.presence_penalty = 0.5F; }));
  logits[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Sampler(SamplingParams{}).choose(find_peak(logits)).error().message,
            Sampler(SamplingParams{}).sample(logits, {}, 0).error().message);
}

}  // namespace
}  // namespace vitrine::sampling
