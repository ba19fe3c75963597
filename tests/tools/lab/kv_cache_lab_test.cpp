#include "tools/lab/kv_cache_lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/lab/lab_bench.h"

namespace vitrine::lab {
namespace {

using ::testing::HasSubstr;

KvCacheRow kv_row(std::size_t length, const Spread& token_ratio) {
  return {.context_length = length,
          .with_s = 0.1,
          .without_s = 0.5,
          .token_with_s = 0.01,
          .token_without_s = 0.1,
          .total_ratio = clear(5.0),
          .token_ratio = token_ratio,
          .copied_ratio = 0.34,
          .counted_ratio = 5.0};
}

TEST(CopiedCount, IsTheTwoSumsThatAreCopied) {
  for (const std::size_t n : {1U, 2U, 10U, 512U}) {
    double without = 0;
    for (std::size_t i = 1; i <= n; ++i)
      without += 2.0 * static_cast<double>(i) * 64.0;
    double with = 2.0 * static_cast<double>(n) * 64.0;
    for (std::size_t i = 1; i < n; ++i)
      with += 2.0 * 64.0 + 2.0 * static_cast<double>(n + i) * 64.0;
    EXPECT_DOUBLE_EQ(copied_count(n).without_cache, without);
    EXPECT_DOUBLE_EQ(copied_count(n).with_cache, with);
  }
  EXPECT_DOUBLE_EQ(copied_count(2).without_cache / copied_count(2).with_cache, 0.5);
}

TEST(CountedRatio, IsOneForOneTokenAndGrowsWithAnswerAndPrompt) {
  TinyBench tiny;
  const plan::Network& network = tiny.bench().network;
  EXPECT_DOUBLE_EQ(counted_ratio(network, 100, 1), 1.0);
  EXPECT_GT(counted_ratio(network, 100, 10), 5.0);
  EXPECT_LT(counted_ratio(network, 100, 10), 10.0) << "at most every token a whole prompt";
  EXPECT_GT(counted_ratio(network, 400, 10), counted_ratio(network, 100, 10));
}

TEST(KvCacheConclusion, AGainThatGrowsIsAsExpected) {
  const std::vector rows = {kv_row(64, clear(8)), kv_row(512, clear(60))};
  const Conclusion conclusion = conclude_kv_cache(rows);
  EXPECT_EQ(conclusion.verdict, Verdict::kAsExpected);
  EXPECT_THAT(conclusion.text, HasSubstr("at 64 tokens of context"));
  EXPECT_THAT(conclusion.text, HasSubstr("grows with the context"));
  EXPECT_THAT(conclusion.text, HasSubstr("0.34x"));
}

TEST(KvCacheConclusion, ALossOrAGainThatStaysContradicts) {
  const std::vector loss = {kv_row(64, clear(0.5)), kv_row(512, clear(60))};
  EXPECT_EQ(conclude_kv_cache(loss).verdict, Verdict::kContradicts);
  EXPECT_THAT(conclude_kv_cache(loss).text, HasSubstr("slower at 64 tokens"));
  const std::vector flat = {kv_row(64, clear(8)), kv_row(512, clear(8))};
  EXPECT_EQ(conclude_kv_cache(flat).verdict, Verdict::kContradicts);
  EXPECT_THAT(conclude_kv_cache(flat).text, HasSubstr("does not grow"));
  std::vector differ = {kv_row(64, clear(8)), kv_row(512, clear(60))};
  differ[1].is_same_answer = false;
  EXPECT_EQ(conclude_kv_cache(differ).verdict, Verdict::kContradicts);
}

TEST(KvCacheConclusion, ASpreadTooWideSaysNothing) {
  const std::vector rows = {kv_row(64, vague(2)), kv_row(512, clear(60))};
  EXPECT_EQ(conclude_kv_cache(rows).verdict, Verdict::kUnclear);
}

TEST(KvCacheLab, RunsBothWaysWithTheSameAnswer) {
  TinyBench tiny;
  const Report report =
      run_kv_cache(tiny.bench(), {.context_lengths = {8, 40}, .answer_tokens = 4, .rounds = {.fewest = 3, .most = 3}});
  expect_whole(report);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[1].at("context_tokens"), 40);
  EXPECT_TRUE(report.rows[1].at("same_answer").get<bool>());
  EXPECT_EQ(report.settings.at("rounds"), 3);
}

TEST(KvCacheLab, LeavesOutLengthsBeyondTheContextAndRefusesAModelThatIsTooShort) {
  TinyBench tiny;
  const std::size_t most = tiny.bench().model.config().context_length;
  const std::vector<std::size_t> lengths = {8, 16, most};
  EXPECT_EQ(tiny.bench().fitting(lengths, 4, 2), (std::vector<std::size_t>{8, 16}));
  EXPECT_THROW(tiny.bench().fitting(lengths, 4, 3), base::Exception);
}

}  // namespace
}  // namespace vitrine::lab
