// The fast selections against slow readable twins that sort everything, over sizes on both sides of the block lengths.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "sampling/history.h"
#include "sampling/mass_cut.h"
#include "sampling/sampler.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 63, 64, 65, 1023, 1024, 1025, 5000};
constexpr std::uint32_t kSeed = 20240;

// Steps of a quarter, so that ties are everywhere; every eighth logit is -inf.
std::vector<float> tied_row(std::size_t size, std::mt19937& generator) {
  std::normal_distribution<float> distribution(0.0F, 3.0F);
  std::vector<float> row(size);
  for (float& logit : row) {
    logit = std::round(distribution(generator) * 4.0F) / 4.0F;
    if (generator() % 8 == 0) logit = -std::numeric_limits<float>::infinity();
  }
  row[generator() % size] = 1.0F;
  return row;
}

std::vector<std::uint32_t> sorted_finite(const std::vector<float>& row) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    if (std::isfinite(row[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return row[a] > row[b]; });
  return order;
}

std::vector<std::uint32_t> survivors(const SamplingParams& params, std::vector<float> row) {
  const auto candidates = Sampler(params).candidates(row, {}, 0, row.size());
  EXPECT_TRUE(candidates);
  std::vector<std::uint32_t> ids;
  for (const Candidate& candidate : *candidates)
    ids.push_back(static_cast<std::uint32_t>(candidate.id));
  return ids;
}

template <typename Check>
void for_random_rows(Check check) {
  std::mt19937 generator(kSeed);
  for (const std::size_t size : kSizes) {
    for (int round = 0; round < 10; ++round) {
      SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", size " << size << ", round " << round);
      check(tied_row(size, generator));
    }
  }
}

TEST(Selection, PeakIsTheFirstOfTheLargest) {
  for_random_rows([](const std::vector<float>& row) {
    EXPECT_EQ(find_peak(row)->position,
              static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  });
}

TEST(Selection, TopPositionsEqualAStableSort) {
  for_random_rows([](const std::vector<float>& row) {
    for (const std::size_t count : {1U, 7U, 40U, 1000U, 100000U}) {
      std::vector<std::uint32_t> wanted = sorted_finite(row);
      wanted.resize(std::min(wanted.size(), count));
      EXPECT_EQ(top_positions(row, count), wanted) << count;
    }
  });
}

TEST(Selection, TopPKeepsTheShortestPrefixOfAStableSort) {
  for_random_rows([](const std::vector<float>& row) {
    for (const float p : {0.0F, 0.3F, 0.9F, 0.999F}) {
      const std::vector<std::uint32_t> order = sorted_finite(row);
      double total = 0;
      for (const std::uint32_t id : order)
        total += std::exp(static_cast<double>(row[id] - row[order[0]]));
      std::vector<std::uint32_t> wanted;
      double before = 0;
      for (const std::uint32_t id : order) {
        // A decision nearer to p than the float exponentials resolve has two right answers: skip the row.
        if (!wanted.empty() && std::abs(before / total - static_cast<double>(p)) < 1e-6) return;
        if (!wanted.empty() && before / total >= static_cast<double>(p)) break;
        wanted.push_back(id);
        before += std::exp(static_cast<double>(row[id] - row[order[0]]));
      }
      SamplingParams params;
      params.top_p = p;
      EXPECT_EQ(survivors(params, row), wanted) << p;
    }
  });
}

TEST(Selection, MinPKeepsAllAboveTheRatio) {
  for_random_rows([](const std::vector<float>& row) {
    std::vector<std::uint32_t> wanted = sorted_finite(row);
    const float peak = row[wanted[0]];
    std::erase_if(wanted, [&](std::uint32_t id) { return std::exp(row[id] - peak) < 0.03F; });
    SamplingParams params;
    params.min_p = 0.03F;
    EXPECT_EQ(survivors(params, row), wanted);
  });
}

TEST(Selection, ChainedTruncationsKeepIdsAndLogitsTogether) {
  for_random_rows([](const std::vector<float>& row) {
    SamplingParams params;
    params.top_k = 50;
    params.typical_p = 0.95F;
    params.top_p = 0.9F;
    params.min_p = 0.01F;
    std::vector<float> copy = row;
    const auto candidates = Sampler(params).candidates(copy, {}, 0, row.size());
    ASSERT_TRUE(candidates);
    double total = 0;
    for (const Candidate& candidate : *candidates) {
      EXPECT_EQ(candidate.logit, row[static_cast<std::size_t>(candidate.id)]);
      total += static_cast<double>(candidate.probability);
    }
    EXPECT_NEAR(total, 1.0, 1e-5);
  });
}

TEST(Selection, SamplingAfterAChainChoosesASurvivor) {
  for_random_rows([](const std::vector<float>& row) {
    SamplingParams params;
    params.top_p = 0.5F;
    params.seed = 1;
    const std::vector<std::uint32_t> allowed = survivors(params, row);
    for (std::uint64_t step = 0; step < 20; ++step) {
      std::vector<float> copy = row;
      const auto id = static_cast<std::uint32_t>(Sampler(params).sample(copy, {}, step)->id);
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), id), allowed.end());
    }
  });
}

TEST(MassCut, EqualsAWalkOverTheSortedPool) {
  std::mt19937 generator(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<RankedMass> pool(1 + generator() % 300);
    for (std::uint32_t i = 0; i < pool.size(); ++i) {
      pool[i] = {static_cast<double>(generator() % 20), static_cast<float>(generator() % 8) * 0.125F, i};
    }
    const double wanted = static_cast<double>(generator() % 1000) * 0.0625;
    std::vector<RankedMass> sorted = pool;
    std::sort(sorted.begin(), sorted.end(), ranks_before);
    std::size_t last = 0;
    double sum = static_cast<double>(sorted[0].mass);
    while (sum < wanted && last + 1 < sorted.size())
      sum += static_cast<double>(sorted[++last].mass);
    EXPECT_EQ(find_mass_cut(pool, wanted).position, sorted[last].position) << "seed " << kSeed << ", round " << round;
  }
}

TEST(Softmax, ExponentialIsWithinTheStatedError) {
  for (int i = 0; i <= 870000; ++i) {
    const float x = static_cast<float>(-i) * 1e-4F;
    const double exact = std::exp(static_cast<double>(x));
    ASSERT_LT(std::abs(static_cast<double>(exp_nonpositive(x)) - exact), 2e-7 * exact) << x;
  }
  EXPECT_EQ(exp_nonpositive(0.0F), 1.0F);
  EXPECT_EQ(exp_nonpositive(-0.0F), 1.0F);
  for (const float x : {-87.1F, -1e30F, -std::numeric_limits<float>::infinity()})
    EXPECT_EQ(exp_nonpositive(x), 0.0F);
}

TEST(Softmax, DrawFollowsTheRunningSumAtTheEdges) {
  const std::vector<float> row = {-std::numeric_limits<float>::infinity(), 0.0F, 0.0F,
                                  -std::numeric_limits<float>::infinity()};
  EXPECT_EQ(draw(row, 0.0F, 0.0), 1U);
  EXPECT_EQ(draw(row, 0.0F, 0.4999), 1U);
  EXPECT_EQ(draw(row, 0.0F, 0.5), 2U);
  EXPECT_EQ(draw(row, 0.0F, std::nextafter(1.0, 0.0)), 2U);
}

TEST(History, SuffixMatchesEqualADirectComparison) {
  std::mt19937 generator(kSeed);
  for (int round = 0; round < 100; ++round) {
    std::vector<TokenId> history(generator() % 60);
    for (TokenId& token : history)
      token = static_cast<TokenId>(generator() % 3);
    const std::vector<std::uint32_t> matches = suffix_matches(history);
    for (std::size_t j = 0; j < history.size(); ++j) {
      std::uint32_t length = 0;
      while (length <= j && history[j - length] == history[history.size() - 1 - length])
        ++length;
      EXPECT_EQ(matches[j], length) << "seed " << kSeed << ", round " << round << ", position " << j;
    }
  }
}

TEST(History, WindowsAreCutToTheHistory) {
  const std::vector<TokenId> history = {1, 2, 3};
  EXPECT_EQ(window(history, -1).size(), 3U);
  EXPECT_EQ(window(history, 0).size(), 0U);
  EXPECT_EQ(window(history, 2).front(), 2);
  EXPECT_EQ(window(history, 100).size(), 3U);
}

// 400,000 equal tokens: anything quadratic in the history would take minutes.
TEST(History, LongRepetitionsTakeLinearTime) {
  const std::vector<TokenId> history(400000, 1);
  SamplingParams params;
  params.dry_multiplier = 0.8F;
  params.no_repeat_ngram_size = 100;
  std::vector<float> logits = {0.0F, 0.0F};
  EXPECT_EQ(Sampler(params).sample(logits, history, 0)->id, 0);
}

}  // namespace
}  // namespace vitrine::sampling
