#include "tools/lab/concurrency_lab.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plot/plot.h"
#include "tools/lab/claim.h"
#include "tools/lab/engine_run.h"
#include "trace/latency.h"

namespace vitrine::lab {
namespace {

constexpr double kEnough = 0.8;  // of the most tokens per second, after which more users gain little

struct ConcurrencyRuns {
  std::vector<double> tokens_per_s, ttft_s, itl_p50_s, itl_p99_s, tpot_s;
};

void run_users(const Workbench& bench, const ConcurrencyOptions& options, std::size_t users, EngineRun& run,
               ConcurrencyRuns& runs) {
  const double start_s = run.now_s();
  for (std::size_t i = 0; i < users; ++i)
    run.submit(exact_request(arbitrary_prompt(bench, options.prompt_tokens, i), options.answer_tokens));
  run.finish();
  const double took_s = run.now_s() - start_s;
  std::vector<double> ttfts;
  std::vector<double> gaps;
  std::vector<double> tpots;
  for (const Outcome& outcome : run.outcomes()) {
    const std::vector<double> own = outcome.gaps_s();
    gaps.insert(gaps.end(), own.begin(), own.end());
    ttfts.push_back(outcome.ttft_s());
    tpots.push_back(outcome.tpot_s());
  }
  runs.tokens_per_s.push_back(static_cast<double>(users * options.answer_tokens) / took_s);
  runs.ttft_s.push_back(spread_of(ttfts).median);
  runs.itl_p50_s.push_back(spread_of(gaps).median);
  runs.itl_p99_s.push_back(trace::percentile(gaps, 0.99).value_or(0.0));
  runs.tpot_s.push_back(spread_of(tpots).median);
  run.clear();
}

Json concurrency_json(const ConcurrencyRow& row) {
  Json json = {{"users", row.users},         {"tokens_per_s", row.tokens_per_s}, {"ttft_p50_s", row.ttft_s},
               {"itl_p50_s", row.itl_p50_s}, {"itl_p99_s", row.itl_p99_s},       {"tpot_p50_s", row.tpot_s}};
  add_ratio(json, "speedup", row.speedup);
  add_ratio(json, "itl", row.itl_ratio);
  add_ratio(json, "to_most", row.to_most);
  return json;
}

std::vector<std::string> concurrency_plots(std::span<const ConcurrencyRow> rows) {
  const plot::Axis users{"users at once", plot::Scale::kLog};
  plot::LinePlot speed{.title = "Tokens per second, all users together",
                       .x = users,
                       .y = {"tokens/s"},
                       .series = {{.name = "tokens/s", .points = {}}}};
  plot::LinePlot gaps{
      .title = "Milliseconds per token of a user",
      .x = users,
      .y = {"ms", plot::Scale::kLog},
      .series = {
          {.name = "ITL p50", .points = {}}, {.name = "ITL p99", .points = {}}, {.name = "TPOT p50", .points = {}}}};
  for (const ConcurrencyRow& row : rows) {
    const auto x = static_cast<double>(row.users);
    speed.series[0].points.emplace_back(x, row.tokens_per_s);
    const std::array values = {row.itl_p50_s, row.itl_p99_s, row.tpot_s};
    for (std::size_t i = 0; i < values.size(); ++i)
      gaps.series[i].points.emplace_back(x, 1e3 * values[i]);
  }
  return {plot::line_svg(speed), plot::line_svg(gaps)};
}

}  // namespace

Conclusion conclude_concurrency(std::span<const ConcurrencyRow> rows) {
  const ConcurrencyRow& last = rows.back();
  const std::vector<Claim> claims = {
      {fmt::format("tokens per second, {} users to {}", last.users, rows.front().users), last.speedup},
      {"the median gap between two tokens of a user", last.itl_ratio}};
  Conclusion conclusion = judge(claims);
  const auto enough = std::ranges::find_if(rows, [](const ConcurrencyRow& row) { return row.to_most.low >= kEnough; });
  // Those below must be clearly below, or another run might say another number.
  const bool is_clear =
      enough != rows.end() && enough->to_most.num_runs >= kFewestRuns &&
      std::all_of(rows.begin(), enough, [](const ConcurrencyRow& row) { return row.to_most.high < kEnough; });
  conclusion.text += is_clear ? fmt::format(" {:.0f} % of the most tokens per second are reached with {} at once.",
                                            100.0 * kEnough, enough->users)
                              : " The runs vary too much to tell where the throughput stops to rise.";
  return conclusion;
}

Report concurrency_report(std::span<const ConcurrencyRow> rows) {
  Report report;
  report.name = "concurrency";
  report.title = "From one user to many";
  report.measured =
      "so many users at once, each with a prompt and an answer of the same length, through the engine: tokens per "
      "second "
      "of all, and for each user the gaps between tokens (ITL) and their mean (TPOT).";
  report.expected = "more users share the reading of the weights: all together get more, each of them waits longer.";
  report.conclusion = conclude_concurrency(rows);
  for (const ConcurrencyRow& row : rows)
    report.rows.push_back(concurrency_json(row));
  report.columns = {{"users", "USERS"},
                    {"tokens_per_s", "TOK/S", 1},
                    {"speedup_x", "TO THE FIRST", 2},
                    {"ttft_p50_s", "TTFT P50 MS", 1, 1e3},
                    {"itl_p50_s", "ITL P50 MS", 2, 1e3},
                    {"itl_p99_s", "ITL P99 MS", 2, 1e3},
                    {"tpot_p50_s", "TPOT P50 MS", 2, 1e3},
                    {"itl_x", "ITL TO THE FIRST", 2}};
  report.plots = concurrency_plots(rows);
  return report;
}

Report run_concurrency(const Workbench& bench, const ConcurrencyOptions& options) {
  const std::array<std::size_t, 1> most = {options.prompt_tokens};
  bench.fitting(most, options.answer_tokens, 1);
  engine::EngineConfig config;
  config.context_length = options.prompt_tokens + options.answer_tokens;
  config.max_sequences = options.users.back();
  // Room for all and for the block that each may ask for next.
  config.kv_memory_bytes =
      kv_bytes_for(bench, options.users.back() * (config.context_length + 2 * kvcache::kBlockTokens));
  config.prefix_cache = false;
  EngineRun run(bench, config);
  std::vector<ConcurrencyRuns> runs(options.users.size());
  const std::size_t num_rounds = run_rounds(bench, options.rounds, runs.size(), [&](std::size_t i) {
    run_users(bench, options, options.users[i], run, runs[i]);
  });
  const ConcurrencyRuns& best = *std::ranges::max_element(
      runs, {}, [](const ConcurrencyRuns& own) { return spread_of(own.tokens_per_s).median; });
  std::vector<ConcurrencyRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows.push_back({.users = options.users[i],
                    .tokens_per_s = spread_of(runs[i].tokens_per_s).median,
                    .ttft_s = spread_of(runs[i].ttft_s).median,
                    .itl_p50_s = spread_of(runs[i].itl_p50_s).median,
                    .itl_p99_s = spread_of(runs[i].itl_p99_s).median,
                    .tpot_s = spread_of(runs[i].tpot_s).median,
                    .speedup = ratio_of(runs[i].tokens_per_s, runs[0].tokens_per_s),
                    .itl_ratio = ratio_of(runs[i].itl_p50_s, runs[0].itl_p50_s),
                    .to_most = ratio_of(runs[i].tokens_per_s, best.tokens_per_s)});
  }
  Report report = concurrency_report(rows);
  report.settings = {
      {"rounds", num_rounds}, {"prompt_tokens", options.prompt_tokens}, {"answer_tokens", options.answer_tokens}};
  return report;
}

}  // namespace vitrine::lab
