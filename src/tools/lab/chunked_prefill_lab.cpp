#include "tools/lab/chunked_prefill_lab.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plot/plot.h"
#include "tools/lab/claim.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

constexpr double kAnyGap = 1e6;  // seconds: the engine may fill every chunk, whatever it does to the answers

struct ChunkedVariant {
  std::string name;
  std::size_t chunk = 0;
  double target_gap_s = 0.0;
};

struct ChunkedRuns {
  std::vector<double> gap_before_s, gap_s, longest_gap_s, ttft_s;
};

std::vector<ChunkedVariant> chunked_variants(const ChunkedPrefillOptions& options) {
  std::vector<ChunkedVariant> variants = {{"one step", options.long_prompt_tokens, kAnyGap}};
  for (const std::size_t chunk : options.chunks)
    variants.push_back({fmt::format("chunks of {}", chunk), chunk, kAnyGap});
  variants.push_back({"the engine's choice", engine::EngineConfig{}.max_chunk_tokens, 0.0});
  return variants;
}

// Most tokens that an answer can have until the long prompt is done, a chunk a step and a look now and then.
std::size_t answer_limit(const ChunkedPrefillOptions& options) {
  return options.tokens_before + options.long_prompt_tokens / 4 + 64;
}

engine::EngineConfig chunked_config(const Workbench& bench, const ChunkedPrefillOptions& options,
                                    const ChunkedVariant& variant) {
  const std::size_t answer_tokens = options.answer_prompt_tokens + answer_limit(options) + kvcache::kBlockTokens;
  const std::size_t long_tokens = options.long_prompt_tokens + kvcache::kBlockTokens;
  engine::EngineConfig config;
  config.context_length = std::max(answer_tokens, long_tokens);
  config.kv_memory_bytes = kv_bytes_for(bench, (options.num_answers + 1) * answer_tokens + long_tokens);
  config.max_sequences = options.num_answers + 1;
  config.max_chunk_tokens = variant.chunk;
  config.target_gap_s = variant.target_gap_s;
  config.prefix_cache = false;
  return config;
}

// The gaps of all answers that reach into (begin, end].
std::vector<double> gaps_between(const EngineRun& run, std::size_t num_answers, double begin_s, double end_s) {
  std::vector<double> gaps;
  for (std::size_t i = 0; i < num_answers; ++i) {
    const std::vector<double>& times = run.outcome(i).token_times_s;
    for (std::size_t k = 1; k < times.size(); ++k)
      if (times[k] > begin_s && times[k - 1] < end_s) gaps.push_back(times[k] - times[k - 1]);
  }
  return gaps;
}

void run_chunked(const Workbench& bench, const ChunkedPrefillOptions& options, EngineRun& run, ChunkedRuns& runs) {
  for (std::size_t i = 0; i < options.num_answers; ++i)
    run.submit(exact_request(arbitrary_prompt(bench, options.answer_prompt_tokens, i), answer_limit(options)));
  const auto have_begun = [&] {
    return std::ranges::all_of(run.outcomes(),
                               [&](const Outcome& outcome) { return outcome.tokens.size() >= options.tokens_before; });
  };
  while (!have_begun())
    run.step();
  const double arrival_s = run.now_s();
  const std::size_t prompt = run.submit(exact_request(arbitrary_prompt(bench, options.long_prompt_tokens, 99), 2));
  while (!run.outcome(prompt).has_ended)
    run.step();
  const double first_token_s = run.outcome(prompt).token_times_s.front();
  const std::vector<double> during = gaps_between(run, options.num_answers, arrival_s, first_token_s);
  runs.gap_before_s.push_back(spread_of(gaps_between(run, options.num_answers, 0.0, arrival_s)).median);
  runs.gap_s.push_back(spread_of(during).median);
  runs.longest_gap_s.push_back(during.empty() ? 0.0 : *std::ranges::max_element(during));
  runs.ttft_s.push_back(run.outcome(prompt).ttft_s());
  run.abort_all();
  run.clear();
}

Json chunked_json(const ChunkedPrefillRow& row) {
  Json json = {{"prefill", row.variant},
               {"itl_before_s", row.gap_before_s},
               {"itl_during_s", row.gap_s},
               {"itl_max_s", row.longest_gap_s},
               {"prompt_ttft_s", row.ttft_s}};
  add_ratio(json, "itl_max_to_one_step", row.longest_to_whole);
  add_ratio(json, "ttft_to_one_step", row.ttft_to_whole);
  return json;
}

std::vector<std::string> chunked_plots(std::span<const ChunkedPrefillRow> rows) {
  plot::BarPlot gaps{.title = "Gap between two tokens of an answer beside a long prompt, ms",
                     .series = {"before it", "median", "longest"},
                     .groups = {},
                     .values = {}};
  plot::BarPlot first{
      .title = "Time to the long prompt's first token, ms", .series = {"ms"}, .groups = {}, .values = {}};
  for (const ChunkedPrefillRow& row : rows) {
    gaps.groups.push_back(row.variant);
    gaps.values.push_back({1e3 * row.gap_before_s, 1e3 * row.gap_s, 1e3 * row.longest_gap_s});
    first.groups.push_back(row.variant);
    first.values.push_back({1e3 * row.ttft_s});
  }
  return {plot::bar_svg(gaps), plot::bar_svg(first)};
}

}  // namespace

Conclusion conclude_chunked_prefill(std::span<const ChunkedPrefillRow> rows) {
  std::vector<Claim> claims;
  for (const ChunkedPrefillRow& row : rows.subspan(1)) {
    const char* subject =
        claims.empty() ? "the longest gap of the answers, to that beside a prompt in one step: with " : "with ";
    claims.push_back({subject + row.variant, row.longest_to_whole, Comparison::kLess});
  }
  Conclusion conclusion = judge(claims);
  conclusion.text += " The prompt's first token comes later, to that in one step:";
  for (const ChunkedPrefillRow& row : rows.subspan(1))
    conclusion.text += fmt::format("{} {} with {}", &row == &rows[1] ? "" : ",", times(row.ttft_to_whole), row.variant);
  conclusion.text += ".";
  return conclusion;
}

Report chunked_prefill_report(std::span<const ChunkedPrefillRow> rows) {
  Report report;
  report.name = "chunked-prefill";
  report.title = "A long prompt beside running answers, whole and in chunks";
  report.measured =
      "answers that run when a long prompt arrives, through the engine: the gaps between their tokens (ITL) while the "
      "prompt is computed in one step, in chunks beside the answers, and in chunks that the engine chooses by the "
      "clock.";
  report.expected = "chunks keep the answers going, and the prompt's first token comes a little later.";
  report.conclusion = conclude_chunked_prefill(rows);
  for (const ChunkedPrefillRow& row : rows)
    report.rows.push_back(chunked_json(row));
  report.columns = {{"prefill", "PREFILL"},
                    {"itl_before_s", "ITL BEFORE MS", 1, 1e3},
                    {"itl_during_s", "ITL DURING MS", 1, 1e3},
                    {"itl_max_s", "LONGEST MS", 1, 1e3},
                    {"itl_max_to_one_step_x", "TO ONE STEP", 2},
                    {"prompt_ttft_s", "PROMPT'S TTFT MS", 0, 1e3},
                    {"ttft_to_one_step_x", "TO ONE STEP", 2}};
  report.plots = chunked_plots(rows);
  return report;
}

Report run_chunked_prefill(const Workbench& bench, const ChunkedPrefillOptions& options) {
  const std::array<std::size_t, 1> most = {options.long_prompt_tokens};
  bench.fitting(most, answer_limit(options), 1);
  const std::vector<ChunkedVariant> variants = chunked_variants(options);
  std::vector<std::unique_ptr<EngineRun>> engines;
  for (const ChunkedVariant& variant : variants)
    engines.push_back(std::make_unique<EngineRun>(bench, chunked_config(bench, options, variant)));
  std::vector<ChunkedRuns> runs(variants.size());
  const std::size_t num_rounds = run_rounds(bench, options.rounds, runs.size(),
                                            [&](std::size_t i) { run_chunked(bench, options, *engines[i], runs[i]); });
  std::vector<ChunkedPrefillRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows.push_back({.variant = variants[i].name,
                    .gap_before_s = spread_of(runs[i].gap_before_s).median,
                    .gap_s = spread_of(runs[i].gap_s).median,
                    .longest_gap_s = spread_of(runs[i].longest_gap_s).median,
                    .ttft_s = spread_of(runs[i].ttft_s).median,
                    .longest_to_whole = ratio_of(runs[i].longest_gap_s, runs[0].longest_gap_s),
                    .ttft_to_whole = ratio_of(runs[i].ttft_s, runs[0].ttft_s)});
  }
  Report report = chunked_prefill_report(rows);
  report.settings = {
      {"rounds", num_rounds}, {"answers", options.num_answers}, {"long_prompt_tokens", options.long_prompt_tokens}};
  return report;
}

}  // namespace vitrine::lab
