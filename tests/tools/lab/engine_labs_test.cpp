// The labs that compare runs of the engine: what they conclude from given rows, and what their runs count.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/lab/batching_lab.h"
#include "tools/lab/chunked_prefill_lab.h"
#include "tools/lab/claim.h"
#include "tools/lab/concurrency_lab.h"
#include "tools/lab/context_lab.h"
#include "tools/lab/engine_run.h"
#include "tools/lab/lab_bench.h"
#include "tools/lab/paged_lab.h"
#include "tools/lab/prefix_cache_lab.h"

namespace vitrine::lab {
namespace {

using ::testing::HasSubstr;

constexpr Rounds kOnce = {.fewest = 1, .most = 1};

TEST(Judge, OneClaimThatFailsContradictsHoweverClearTheOthers) {
  const std::vector<Claim> claims = {
      {"a to b", clear(2.0)}, {"c to d", clear(2.0), Comparison::kLess}, {"e", vague(2)}};
  const Conclusion conclusion = judge(claims);
  EXPECT_EQ(conclusion.verdict, Verdict::kContradicts);
  EXPECT_THAT(conclusion.text, HasSubstr("a to b: 2.0x; c to d: 2.0x (against what is said: less); e: "));
  EXPECT_THAT(conclusion.text, HasSubstr("(the runs vary too much to tell)"));
}

TEST(Judge, WhatCantBeToldIsUnclear) {
  const std::vector<Claim> vague_one = {{"a", clear(2.0)}, {"b", vague(2.0)}};
  EXPECT_EQ(judge(vague_one).verdict, Verdict::kUnclear);
  const std::vector<Claim> few = {{"a", {.median = 2, .low = 2, .high = 2, .num_runs = 1}}};
  EXPECT_EQ(judge(few).verdict, Verdict::kUnclear);
  EXPECT_THAT(judge(few).text, HasSubstr("too few runs"));
}

TEST(EngineRun, TimesEachTokenAndTakesNoMoreThanTheClientWants) {
  TinyBench tiny;
  EngineRun run(tiny.bench(), {.context_length = 64, .prefix_cache = false});
  run.submit(exact_request(arbitrary_prompt(tiny.bench(), 10, 1), 5));
  run.finish();
  const Outcome& outcome = run.outcome(0);
  EXPECT_TRUE(outcome.has_ended);
  ASSERT_EQ(outcome.tokens.size(), 5U);
  EXPECT_EQ(outcome.gaps_s().size(), 4U);
  EXPECT_NEAR(outcome.ttft_s() + 4 * outcome.tpot_s(), outcome.total_s(), 1e-9);
  const std::size_t stopped = run.submit(exact_request(arbitrary_prompt(tiny.bench(), 10, 1), 40), 3);
  run.finish();
  EXPECT_EQ(run.outcome(stopped).tokens.size(), 3U);
  EXPECT_TRUE(
      std::ranges::equal(run.outcome(stopped).tokens, std::vector(outcome.tokens.begin(), outcome.tokens.begin() + 3)));
  run.submit(exact_request(arbitrary_prompt(tiny.bench(), 10, 1), 40));
  run.step();
  run.abort_all();
  run.clear();
  EXPECT_TRUE(run.outcomes().empty());
}

std::vector<BatchingRow> batching_rows(double padded, double continuous, double latency) {
  std::vector<BatchingRow> rows;
  for (const Batching kind : kBatchings)
    rows.push_back({.kind = kind,
                    .speedup = clear(1.0),
                    .to_padded = clear(1.0),
                    .latency_to_padded = clear(1.0),
                    .to_static = clear(1.3)});
  rows[1].speedup = clear(padded);
  rows[3].speedup = clear(continuous);
  rows[3].to_padded = clear(continuous / padded);
  rows[3].latency_to_padded = clear(latency);
  return rows;
}

TEST(BatchingConclusion, FollowsTheRows) {
  EXPECT_EQ(conclude_batching(batching_rows(1.5, 3.0, 0.5)).verdict, Verdict::kAsExpected);
  const Conclusion slow = conclude_batching(batching_rows(0.7, 3.0, 0.5));
  EXPECT_EQ(slow.verdict, Verdict::kContradicts) << "padding can cost more than batches gain";
  EXPECT_THAT(slow.text, HasSubstr("0.70x (against what is said: more)"));
  EXPECT_THAT(slow.text, HasSubstr("Padding aside, continuous to static batches: 1.3x"));
  EXPECT_EQ(conclude_batching(batching_rows(1.5, 3.0, 1.4)).verdict, Verdict::kContradicts);
}

TEST(BatchingLab, CountsTheRowsThatEachKindComputes) {
  const BatchingOptions options{.prompt_tokens = {4, 10}, .answer_tokens = {3, 1, 5}, .num_requests = 4, .batch = 2};
  // 4+3, 10+1, 4+5, 10+3, less one each: the last token is never read.
  EXPECT_EQ(rows_of(Batching::kNone, options), 6U + 10U + 8U + 12U);
  EXPECT_EQ(rows_of(Batching::kContinuous, options), 36U);
  EXPECT_EQ(rows_of(Batching::kPadded, options), 4U * 14U);
}

std::vector<PagedRow> paged_rows(double users, double waste, double speed) {
  std::vector<PagedRow> rows;
  for (const KvReservation kind : kReservations)
    rows.push_back({.kind = kind,
                    .wasted_share = 0.5,
                    .users_to_context = clear(1.0),
                    .waste_to_context = clear(1.0),
                    .speed_to_context = clear(1.0)});
  rows[2].users_to_context = clear(users);
  rows[2].waste_to_context = clear(waste);
  rows[2].speed_to_context = clear(speed);
  rows[2].wasted_share = 0.5 * waste;
  return rows;
}

TEST(PagedConclusion, FollowsTheRows) {
  const Conclusion usual = conclude_paged(paged_rows(5, 0.2, 2));
  EXPECT_EQ(usual.verdict, Verdict::kAsExpected);
  EXPECT_THAT(usual.text, HasSubstr("50 % of what was reserved held nothing, paged 10 %"));
  EXPECT_EQ(conclude_paged(paged_rows(5, 0.2, 0.8)).verdict, Verdict::kContradicts);
  EXPECT_EQ(conclude_paged(paged_rows(1, 1.5, 2)).verdict, Verdict::kContradicts);
}

TEST(PagedLab, ContiguousReservationsAdmitAsManyAsFitAndPagingMore) {
  TinyBench tiny;
  const Report report = run_paged(tiny.bench(), {.context_length = 128,
                                                 .prompt_tokens = 10,
                                                 .max_tokens = 40,
                                                 .answer_tokens = {4},
                                                 .num_requests = 10,
                                                 .kv_tokens = 256,
                                                 .rounds = kOnce});
  EXPECT_EQ(report.rows[0].at("users_max"), 2) << "128 tokens each of 256";
  EXPECT_EQ(report.rows[1].at("users_max"), 4) << "50 tokens are four blocks of 16";
  EXPECT_GT(report.rows[2].at("users_max"), 4);
  for (const Json& row : report.rows) {
    EXPECT_GT(row.at("wasted_share"), 0.0);
    EXPECT_LT(row.at("wasted_share"), 1.0);
    EXPECT_NEAR(row.at("wasted_bytes").get<double>(),
                row.at("wasted_share").get<double>() * row.at("reserved_bytes").get<double>(), 1.0);
  }
  EXPECT_LT(report.rows[2].at("wasted_share"), report.rows[0].at("wasted_share"));
}

std::vector<ChunkedPrefillRow> chunked_rows(double chunks, double own) {
  return {{.variant = "one step", .longest_to_whole = clear(1.0), .ttft_to_whole = clear(1.0)},
          {.variant = "chunks of 64", .longest_to_whole = clear(chunks), .ttft_to_whole = clear(1.2)},
          {.variant = "the engine's choice", .longest_to_whole = clear(own), .ttft_to_whole = clear(1.5)}};
}

TEST(ChunkedPrefillConclusion, FollowsTheRows) {
  const Conclusion usual = conclude_chunked_prefill(chunked_rows(0.2, 0.1));
  EXPECT_EQ(usual.verdict, Verdict::kAsExpected);
  EXPECT_THAT(usual.text, HasSubstr("in one step: 1.2x with chunks of 64, 1.5x with the engine's choice."));
  EXPECT_EQ(conclude_chunked_prefill(chunked_rows(1.3, 0.1)).verdict, Verdict::kContradicts);
}

std::vector<PrefixCacheRow> prefix_rows(double speedup, std::size_t cached) {
  return {{.shared_tokens = 0, .prompt_tokens = 32, .cached_tokens = 0, .tokens_ratio = 1, .speedup = clear(1.0)},
          {.shared_tokens = 100,
           .prompt_tokens = 132,
           .cached_tokens = cached,
           .tokens_ratio = 132.0 / 36.0,
           .speedup = clear(speedup)}};
}

TEST(PrefixCacheConclusion, FollowsTheRows) {
  const Conclusion usual = conclude_prefix_cache(prefix_rows(3.0, 96));
  EXPECT_EQ(usual.verdict, Verdict::kAsExpected);
  EXPECT_THAT(usual.text, HasSubstr("with it: sharing 100 of 132 tokens: 3.0x."));
  EXPECT_THAT(usual.text, HasSubstr("3.7x"));
  EXPECT_EQ(conclude_prefix_cache(prefix_rows(1.0, 96)).verdict, Verdict::kContradicts);
  EXPECT_EQ(conclude_prefix_cache(prefix_rows(3.0, 0)).verdict, Verdict::kContradicts);
}

TEST(PrefixCacheLab, FindsWholeBlocksOfWhatIsShared) {
  TinyBench tiny;
  const Report report = run_prefix_cache(
      tiny.bench(), {.shared_tokens = {0, 20, 70}, .own_tokens = 10, .rounds = {.fewest = 2, .most = 2}});
  EXPECT_EQ(report.rows[0].at("cached_tokens"), 0);
  EXPECT_EQ(report.rows[1].at("cached_tokens"), 16);
  EXPECT_EQ(report.rows[2].at("cached_tokens"), 64);
  EXPECT_DOUBLE_EQ(report.rows[2].at("tokens_x"), 80.0 / 16.0);
}

std::vector<ConcurrencyRow> concurrency_rows(double speedup, double itl) {
  return {{.users = 1, .tokens_per_s = 100, .speedup = clear(1), .itl_ratio = clear(1), .to_most = clear(0.3)},
          {.users = 8, .tokens_per_s = 390, .speedup = clear(3.9), .itl_ratio = clear(2), .to_most = clear(0.9)},
          {.users = 64, .tokens_per_s = 400, .speedup = clear(speedup), .itl_ratio = clear(itl), .to_most = clear(1)}};
}

TEST(ConcurrencyConclusion, FollowsTheRows) {
  const Conclusion usual = conclude_concurrency(concurrency_rows(4, 3));
  EXPECT_EQ(usual.verdict, Verdict::kAsExpected);
  EXPECT_THAT(usual.text, HasSubstr("80 % of the most tokens per second are reached with 8 at once"));
  auto uneven = concurrency_rows(4, 3);
  uneven[0].to_most = vague(0.5);
  EXPECT_THAT(conclude_concurrency(uneven).text, HasSubstr("vary too much to tell where"));
  EXPECT_EQ(conclude_concurrency(concurrency_rows(0.8, 3)).verdict, Verdict::kContradicts);
  EXPECT_EQ(conclude_concurrency(concurrency_rows(4, 1)).verdict, Verdict::kContradicts);
}

std::vector<ContextRow> context_rows(double slowdown) {
  return {{.context_length = 128,
           .kv_bytes = 1'000'000,
           .kv_forecast_bytes = 1'000'000,
           .prefill_slowdown = clear(1),
           .decode_slowdown = clear(1)},
          {.context_length = 1024,
           .kv_bytes = 8'000'000,
           .kv_forecast_bytes = 8'000'000,
           .prefill_slowdown = clear(2),
           .decode_slowdown = clear(slowdown)}};
}

TEST(ContextConclusion, FollowsTheRows) {
  const Conclusion usual = conclude_context(context_rows(1.5));
  EXPECT_EQ(usual.verdict, Verdict::kAsExpected);
  EXPECT_THAT(usual.text, HasSubstr("from 1.0 to 8.0 MB, 8.0x for 8.0x the tokens"));
  EXPECT_EQ(conclude_context(context_rows(1.0)).verdict, Verdict::kContradicts);
  auto more = context_rows(1.5);
  more[1].kv_bytes *= 2;
  EXPECT_EQ(conclude_context(more).verdict, Verdict::kContradicts);
  EXPECT_THAT(conclude_context(more).text, HasSubstr("not what the formula"));
}

TEST(ContextLab, TheBlocksInUseAreThoseThatThePlanForecasts) {
  TinyBench tiny;
  const Report report = run_context(tiny.bench(), {.lengths = {16, 33, 100}, .answer_tokens = 5, .rounds = kOnce});
  for (const Json& row : report.rows)
    EXPECT_EQ(row.at("kv_allocated_bytes"), row.at("kv_forecast_bytes"));
}

}  // namespace
}  // namespace vitrine::lab
