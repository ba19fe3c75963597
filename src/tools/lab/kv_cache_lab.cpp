#include "tools/lab/kv_cache_lab.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "plan/formula.h"
#include "plan/speed.h"
#include "plot/plot.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

// One length with or without the cache, over all rounds.
struct KvCacheRuns {
  std::vector<double> total_s;
  std::vector<double> token_s;
  std::vector<TokenId> answer;
};

// Without a cache every token but the first costs at least this often what it costs with one, however short the text.
constexpr double kGrowth = 1.5;

KvCacheRow kv_cache_row(std::size_t length, const KvCacheRuns& with, const KvCacheRuns& without,
                        const plan::Network& network, std::size_t answer_tokens) {
  const CopiedCount copied = copied_count(length);
  return {.context_length = length,
          .with_s = spread_of(with.total_s).median,
          .without_s = spread_of(without.total_s).median,
          .token_with_s = spread_of(with.token_s).median,
          .token_without_s = spread_of(without.token_s).median,
          .total_ratio = ratio_of(without.total_s, with.total_s),
          .token_ratio = ratio_of(without.token_s, with.token_s),
          .copied_ratio = copied.without_cache / copied.with_cache,
          .counted_ratio = counted_ratio(network, length, answer_tokens),
          .is_same_answer = with.answer == without.answer};
}

Json kv_cache_json(const KvCacheRow& row) {
  Json json = {{"context_tokens", row.context_length},
               {"with_s", row.with_s},
               {"without_s", row.without_s},
               {"token_with_s", row.token_with_s},
               {"token_without_s", row.token_without_s}};
  add_ratio(json, "speedup", row.total_ratio);
  add_ratio(json, "token_speedup", row.token_ratio);
  json["counted_x"] = row.counted_ratio;
  json["copied_x"] = row.copied_ratio;
  json["same_answer"] = row.is_same_answer;
  return json;
}

std::string kv_cache_plot(std::span<const KvCacheRow> rows) {
  plot::LinePlot picture{.title = "How much faster the KV cache makes an answer",
                         .x = {"tokens of context", plot::Scale::kLog},
                         .y = {"times as fast", plot::Scale::kLog},
                         .series = {{.name = "a token after the first", .points = {}},
                                    {.name = "the whole answer", .points = {}},
                                    {.name = "operations of it", .points = {}},
                                    {.name = "the copied count", .points = {}}}};
  for (const KvCacheRow& row : rows) {
    const auto x = static_cast<double>(row.context_length);
    const std::array values = {row.token_ratio.median, row.total_ratio.median, row.counted_ratio, row.copied_ratio};
    for (std::size_t i = 0; i < values.size(); ++i)
      picture.series[i].points.emplace_back(x, values[i]);
  }
  return plot::line_svg(picture);
}

std::string copied_sentence(std::span<const KvCacheRow> rows) {
  return fmt::format(
      "The copied count says {} to {}, a loss, because it compares different work: it charges the cached side a prompt "
      "of n tokens and n - 1 more at contexts of n + 1 to 2 n - 1, the other side n tokens at contexts of 1 to n, and "
      "leaves out the projections that make K and V, which the cache saves.",
      times(rows.front().copied_ratio), times(rows.back().copied_ratio));
}

}  // namespace

CopiedCount copied_count(std::size_t n) {
  constexpr double kHeadDim = 64.0;
  const auto tokens = static_cast<double>(n);
  CopiedCount count;
  count.without_cache = kHeadDim * tokens * (tokens + 1.0);
  const double steps = tokens - 1.0;
  count.with_cache =
      2.0 * tokens * kHeadDim + steps * 2.0 * kHeadDim + 2.0 * kHeadDim * (tokens * steps + steps * tokens / 2.0);
  return count;
}

double counted_ratio(const plan::Network& network, std::size_t prompt_tokens, std::size_t answer_tokens) {
  const auto prompt_flops = [&](std::size_t num_tokens) {
    return static_cast<double>(num_tokens) * plan::mean_prompt_flops(network, num_tokens);
  };
  double with = prompt_flops(prompt_tokens);
  double without = with;
  for (std::size_t i = 1; i < answer_tokens; ++i) {
    with += plan::flops_of_token(network, static_cast<double>(prompt_tokens + i));
    without += prompt_flops(prompt_tokens + i);
  }
  return without / with;
}

Conclusion conclude_kv_cache(std::span<const KvCacheRow> rows) {
  const KvCacheRow& first = rows.front();
  const KvCacheRow& last = rows.back();
  if (!std::ranges::all_of(rows, &KvCacheRow::is_same_answer))
    return {Verdict::kContradicts, "The answers with and without the cache differ, which they must not."};
  const auto is = [&](Comparison wanted) {
    return [wanted](const KvCacheRow& row) { return compare(row.token_ratio) == wanted; };
  };
  if (std::ranges::any_of(rows, is(Comparison::kLess))) {
    const auto slower = std::ranges::find_if(rows, is(Comparison::kLess));
    return {Verdict::kContradicts,
            fmt::format("The cache makes a token slower at {} tokens of context: {}. {}", slower->context_length,
                        times(slower->token_ratio), copied_sentence(rows))};
  }
  if (!std::ranges::all_of(rows, is(Comparison::kMore)))
    return {Verdict::kUnclear,
            fmt::format("The runs are too few or vary too much to say how much the cache saves: {} at {} tokens, {} at "
                        "{}.",
                        times(first.token_ratio), plan::grouped(first.context_length), times(last.token_ratio),
                        plan::grouped(last.context_length))};
  const bool grows = last.token_ratio.median > kGrowth * first.token_ratio.median;
  const std::string text = fmt::format(
      "With the cache a token after the first is {} as fast at {} tokens of context and {} at {}, the whole "
      "answer {} and {}: it is a gain at every length, and it {}. {}",
      times(first.token_ratio), plan::grouped(first.context_length), times(last.token_ratio),
      plan::grouped(last.context_length), times(first.total_ratio), times(last.total_ratio),
      grows ? "grows with the context" : "does not grow with the context", copied_sentence(rows));
  return {grows ? Verdict::kAsExpected : Verdict::kContradicts, text};
}

Report kv_cache_report(std::span<const KvCacheRow> rows) {
  Report report;
  report.name = "kv-cache";
  report.title = "With and without a KV cache";
  report.measured =
      "the same prompt and answer through the engine, once with its KV cache, once computing every position again for "
      "each token; the answers are the same, token by token.";
  report.expected =
      "the cache turns work that grows with the square of the length into work that grows with the length.";
  report.conclusion = conclude_kv_cache(rows);
  for (const KvCacheRow& row : rows)
    report.rows.push_back(kv_cache_json(row));
  report.columns = {{"context_tokens", "CONTEXT"},
                    {"with_s", "WITH MS", 1, 1e3},
                    {"without_s", "WITHOUT MS", 1, 1e3},
                    {"speedup_x", "FASTER", 2},
                    {"token_with_s", "A TOKEN WITH MS", 2, 1e3},
                    {"token_without_s", "WITHOUT MS", 1, 1e3},
                    {"token_speedup_x", "FASTER", 1},
                    {"counted_x", "BY OPERATIONS", 2},
                    {"copied_x", "COPIED COUNT", 2}};
  report.plots = {kv_cache_plot(rows)};
  return report;
}

Report run_kv_cache(const Workbench& bench, const KvCacheOptions& options) {
  const auto lengths = bench.fitting(options.context_lengths, options.answer_tokens, 2);
  const std::size_t num_tokens = lengths.back() + options.answer_tokens;
  EngineRun with(bench, {.context_length = num_tokens, .prefix_cache = false});
  EngineRun without(bench, {.context_length = num_tokens, .prefix_cache = false, .kv_cache = false});
  std::vector<KvCacheRuns> runs(2 * lengths.size());
  const std::size_t num_rounds = run_rounds(bench, options.rounds, runs.size(), [&](std::size_t case_idx) {
    EngineRun& engine = case_idx % 2 == 0 ? with : without;
    const std::size_t request =
        engine.submit(exact_request(arbitrary_prompt(bench, lengths[case_idx / 2], 1), options.answer_tokens));
    engine.finish();
    const Outcome& outcome = engine.outcome(request);
    runs[case_idx].total_s.push_back(outcome.total_s());
    runs[case_idx].token_s.push_back(spread_of(outcome.gaps_s()).median);
    runs[case_idx].answer = outcome.tokens;
    engine.clear();
  });
  std::vector<KvCacheRow> rows;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    rows.push_back(kv_cache_row(lengths[i], runs[2 * i], runs[2 * i + 1], bench.network, options.answer_tokens));
  Report report = kv_cache_report(rows);
  report.settings = {{"rounds", num_rounds}, {"answer_tokens", options.answer_tokens}};
  return report;
}

}  // namespace vitrine::lab
