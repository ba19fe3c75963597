#include "tools/lab/batching_lab.h"

#include <algorithm>

#include "plot/plot.h"
#include "tools/lab/claim.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

struct BatchingRuns {
  std::vector<double> tokens_per_s;
  std::vector<double> ttft_s;
  std::vector<double> latency_s;
  std::vector<double> slowest_s;
};

std::size_t prompt_of(const BatchingOptions& options, std::size_t i) {
  return options.prompt_tokens[i % options.prompt_tokens.size()];
}

std::size_t answer_of(const BatchingOptions& options, std::size_t i) {
  return options.answer_tokens[i % options.answer_tokens.size()];
}

std::size_t longest(const std::vector<std::size_t>& lengths) {
  return *std::ranges::max_element(lengths);
}

engine::EngineConfig batching_config(const Workbench& bench, const BatchingOptions& options, Batching kind) {
  const std::size_t most_tokens = longest(options.prompt_tokens) + longest(options.answer_tokens);
  const std::size_t rounded = most_tokens + kvcache::kBlockTokens;
  engine::EngineConfig config;
  config.context_length = most_tokens;
  config.kv_memory_bytes = kv_bytes_for(bench, (options.batch + 1) * rounded);
  config.max_sequences = kind == Batching::kNone ? 1 : options.batch;
  config.static_batches = kind == Batching::kStatic;
  config.prefix_cache = false;
  return config;
}

// When each request had its first token and its last one, after the start.
struct RequestTimes {
  std::vector<double> first_s;
  std::vector<double> last_s;
};

RequestTimes run_unpadded(const Workbench& bench, const BatchingOptions& options, EngineRun& run) {
  const double start_s = run.now_s();
  for (std::size_t i = 0; i < options.num_requests; ++i)
    run.submit(exact_request(arbitrary_prompt(bench, prompt_of(options, i), i), answer_of(options, i)));
  run.finish();
  RequestTimes times;
  for (const Outcome& outcome : run.outcomes()) {
    times.first_s.push_back(outcome.token_times_s.front() - start_s);
    times.last_s.push_back(outcome.ended_s - start_s);
  }
  return times;
}

// Nothing is handed out before the whole batch is done, as where a batch is one call.
RequestTimes run_padded(const Workbench& bench, const BatchingOptions& options, EngineRun& run) {
  const double start_s = run.now_s();
  RequestTimes times;
  for (std::size_t first = 0; first < options.num_requests; first += options.batch) {
    const std::size_t end = std::min(first + options.batch, options.num_requests);
    for (std::size_t i = first; i < end; ++i)
      run.submit(
          exact_request(arbitrary_prompt(bench, longest(options.prompt_tokens), i), longest(options.answer_tokens)));
    run.finish();
    times.first_s.resize(end, run.now_s() - start_s);
    times.last_s.resize(end, run.now_s() - start_s);
  }
  return times;
}

void add_run(const BatchingOptions& options, const RequestTimes& times, BatchingRuns& runs) {
  std::size_t num_tokens = 0;
  for (std::size_t i = 0; i < options.num_requests; ++i)
    num_tokens += answer_of(options, i);
  const double slowest_s = *std::ranges::max_element(times.last_s);
  runs.tokens_per_s.push_back(static_cast<double>(num_tokens) / slowest_s);
  runs.ttft_s.push_back(spread_of(times.first_s).median);
  runs.latency_s.push_back(spread_of(times.last_s).median);
  runs.slowest_s.push_back(slowest_s);
}

Json batching_json(const BatchingRow& row) {
  Json json = {
      {"batching", batching_name(row.kind)}, {"tokens_per_s", row.tokens_per_s}, {"ttft_p50_s", row.ttft_s},
      {"latency_p50_s", row.latency_s},      {"latency_max_s", row.slowest_s},   {"rows_computed", row.num_rows}};
  add_ratio(json, "speedup", row.speedup);
  add_ratio(json, "to_padded", row.to_padded);
  add_ratio(json, "latency_to_padded", row.latency_to_padded);
  add_ratio(json, "to_static", row.to_static);
  return json;
}

std::vector<std::string> batching_plots(std::span<const BatchingRow> rows) {
  plot::BarPlot speed{
      .title = "Tokens per second, all answers together", .series = {"tokens/s"}, .groups = {}, .values = {}};
  plot::BarPlot latency{.title = "Seconds to the end of the median and of the last request",
                        .series = {"median", "last"},
                        .groups = {},
                        .values = {}};
  for (const BatchingRow& row : rows) {
    speed.groups.emplace_back(batching_name(row.kind));
    speed.values.push_back({row.tokens_per_s});
    latency.groups.emplace_back(batching_name(row.kind));
    latency.values.push_back({row.latency_s, row.slowest_s});
  }
  return {plot::bar_svg(speed), plot::bar_svg(latency)};
}

}  // namespace

std::string_view batching_name(Batching kind) {
  constexpr std::array<std::string_view, kBatchings.size()> kNames = {"none", "static, padded", "static", "continuous"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t rows_of(Batching kind, const BatchingOptions& options) {
  if (kind == Batching::kPadded)
    return options.num_requests * (longest(options.prompt_tokens) + longest(options.answer_tokens) - 1);
  std::size_t num_rows = 0;
  for (std::size_t i = 0; i < options.num_requests; ++i)
    num_rows += prompt_of(options, i) + answer_of(options, i) - 1;
  return num_rows;
}

Conclusion conclude_batching(std::span<const BatchingRow> rows) {
  const auto row = [&](Batching kind) -> const BatchingRow& { return rows[static_cast<std::size_t>(kind)]; };
  const std::vector<Claim> claims = {
      {"tokens per second, batches with padding to one after the other", row(Batching::kPadded).speedup},
      {"continuous batching to one after the other", row(Batching::kContinuous).speedup},
      {"continuous to padded batches", row(Batching::kContinuous).to_padded},
      {"the median request's time, continuous to padded batches", row(Batching::kContinuous).latency_to_padded,
       Comparison::kLess}};
  Conclusion conclusion = judge(claims);
  conclusion.text +=
      " Padding aside, continuous to static batches: " + times(row(Batching::kContinuous).to_static) + ".";
  return conclusion;
}

Report batching_report(std::span<const BatchingRow> rows) {
  Report report;
  report.name = "batching";
  report.title = "One after the other, static and continuous batches";
  report.measured =
      "the same requests of unequal lengths, all waiting at the start, through the engine: one at a time; in batches "
      "padded to their longest prompt and answer; in batches without padding that nobody joins; and joined and left "
      "at every step. Tokens that nobody asked for don't count.";
  report.expected =
      "batches give more tokens per second, and continuous ones more than static ones, with shorter waits.";
  report.conclusion = conclude_batching(rows);
  for (const BatchingRow& row : rows)
    report.rows.push_back(batching_json(row));
  report.columns = {{"batching", "BATCHES"},
                    {"tokens_per_s", "TOK/S", 1},
                    {"speedup_x", "TO NONE", 2},
                    {"ttft_p50_s", "TTFT P50 MS", 0, 1e3},
                    {"latency_p50_s", "LATENCY P50 MS", 0, 1e3},
                    {"latency_max_s", "MAX MS", 0, 1e3},
                    {"rows_computed", "ROWS COMPUTED"}};
  report.plots = batching_plots(rows);
  return report;
}

Report run_batching(const Workbench& bench, const BatchingOptions& options) {
  const std::array<std::size_t, 1> most = {longest(options.prompt_tokens)};
  bench.fitting(most, longest(options.answer_tokens), 1);
  std::vector<std::unique_ptr<EngineRun>> engines;
  for (const Batching kind : kBatchings)
    engines.push_back(std::make_unique<EngineRun>(bench, batching_config(bench, options, kind)));
  std::array<BatchingRuns, kBatchings.size()> runs;
  const std::size_t num_rounds = run_rounds(bench, options.rounds, runs.size(), [&](std::size_t i) {
    EngineRun& run = *engines[i];
    const bool is_padded = kBatchings[i] == Batching::kPadded;
    add_run(options, is_padded ? run_padded(bench, options, run) : run_unpadded(bench, options, run), runs[i]);
    run.clear();
  });
  const BatchingRuns& none = runs[static_cast<std::size_t>(Batching::kNone)];
  const BatchingRuns& padded = runs[static_cast<std::size_t>(Batching::kPadded)];
  const BatchingRuns& unpadded = runs[static_cast<std::size_t>(Batching::kStatic)];
  std::vector<BatchingRow> rows;
  for (const Batching kind : kBatchings) {
    const BatchingRuns& own = runs[static_cast<std::size_t>(kind)];
    rows.push_back({.kind = kind,
                    .tokens_per_s = spread_of(own.tokens_per_s).median,
                    .ttft_s = spread_of(own.ttft_s).median,
                    .latency_s = spread_of(own.latency_s).median,
                    .slowest_s = spread_of(own.slowest_s).median,
                    .num_rows = rows_of(kind, options),
                    .speedup = ratio_of(own.tokens_per_s, none.tokens_per_s),
                    .to_padded = ratio_of(own.tokens_per_s, padded.tokens_per_s),
                    .latency_to_padded = ratio_of(own.latency_s, padded.latency_s),
                    .to_static = ratio_of(own.tokens_per_s, unpadded.tokens_per_s)});
  }
  Report report = batching_report(rows);
  report.settings = {{"rounds", num_rounds}, {"requests", options.num_requests}, {"batch", options.batch}};
  return report;
}

}  // namespace vitrine::lab
