#include "tools/lab/context_lab.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/formula.h"
#include "plan/kv_layout.h"
#include "plot/plot.h"
#include "tools/lab/claim.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

using plan::grouped;

struct ContextRuns {
  std::vector<double> prompt_token_s;
  std::vector<double> answer_token_s;
  std::size_t kv_bytes = 0;
};

void run_length(const Workbench& bench, std::size_t length, std::size_t answer_tokens, EngineRun& run,
                ContextRuns& runs) {
  const std::size_t request = run.submit(exact_request(arbitrary_prompt(bench, length, 1), answer_tokens));
  while (run.engine().has_work()) {
    run.step();
    const engine::EngineStats stats = run.engine().stats();
    runs.kv_bytes = std::max(runs.kv_bytes, stats.num_blocks_in_use * stats.block_bytes);
  }
  const Outcome& outcome = run.outcome(request);
  runs.prompt_token_s.push_back(outcome.ttft_s() / static_cast<double>(length));
  runs.answer_token_s.push_back(spread_of(outcome.gaps_s()).median);
  run.clear();
}

// The last token is never read again, so it has no keys and values.
std::size_t forecast_kv(const plan::Network& network, std::size_t num_tokens) {
  const std::size_t row_bytes = plan::kv_row_bytes(network.kv, tensor::DType::kF16).value_or_throw();
  return plan::kv_allocated_bytes(network.kv, row_bytes, num_tokens);
}

Json context_json(const ContextRow& row) {
  Json json = {{"context_tokens", row.context_length},
               {"kv_allocated_bytes", row.kv_bytes},
               {"kv_forecast_bytes", row.kv_forecast_bytes},
               {"prefill_tokens_per_s", row.prefill_tokens_per_s},
               {"decode_tokens_per_s", row.decode_tokens_per_s}};
  add_ratio(json, "prefill_slowdown", row.prefill_slowdown);
  add_ratio(json, "decode_slowdown", row.decode_slowdown);
  return json;
}

std::vector<std::string> context_plots(std::span<const ContextRow> rows) {
  const plot::Axis length{"tokens of context", plot::Scale::kLog};
  plot::LinePlot speed{.title = "Tokens per second by context",
                       .x = length,
                       .y = {"tokens/s", plot::Scale::kLog},
                       .series = {{.name = "prompt", .points = {}}, {.name = "answer", .points = {}}}};
  plot::LinePlot memory{.title = "KV cache by context, MB",
                        .x = {"tokens of context"},
                        .y = {"MB"},
                        .series = {{.name = "blocks in use", .points = {}}}};
  for (const ContextRow& row : rows) {
    const auto x = static_cast<double>(row.context_length);
    speed.series[0].points.emplace_back(x, row.prefill_tokens_per_s);
    speed.series[1].points.emplace_back(x, row.decode_tokens_per_s);
    memory.series[0].points.emplace_back(x, static_cast<double>(row.kv_bytes) / 1e6);
  }
  return {plot::line_svg(speed), plot::line_svg(memory)};
}

std::string memory_sentence(std::span<const ContextRow> rows) {
  const ContextRow& first = rows.front();
  const ContextRow& last = rows.back();
  return fmt::format(" The KV cache grows from {:.1f} to {:.1f} MB, {} for {} the tokens, in blocks of 16.",
                     static_cast<double>(first.kv_bytes) / 1e6, static_cast<double>(last.kv_bytes) / 1e6,
                     times(static_cast<double>(last.kv_bytes) / static_cast<double>(first.kv_bytes)),
                     times(static_cast<double>(last.context_length) / static_cast<double>(first.context_length)));
}

}  // namespace

Conclusion conclude_context(std::span<const ContextRow> rows) {
  const ContextRow& last = rows.back();
  const std::string lengths =
      fmt::format("at {} tokens of context to {}", grouped(last.context_length), grouped(rows.front().context_length));
  const std::vector<Claim> claims = {{"the time of an answer's token, " + lengths, last.decode_slowdown},
                                     {"the time of a prompt's token", last.prefill_slowdown}};
  Conclusion conclusion = judge(claims);
  conclusion.text += memory_sentence(rows);
  const bool is_as_planned =
      std::ranges::all_of(rows, [](const ContextRow& row) { return row.kv_bytes == row.kv_forecast_bytes; });
  if (!is_as_planned) {
    conclusion.verdict = Verdict::kContradicts;
    conclusion.text += " That is not what the formula of `vitrine plan` says.";
  }
  return conclusion;
}

Report context_report(std::span<const ContextRow> rows) {
  Report report;
  report.name = "context";
  report.title = "What a longer context costs";
  report.measured =
      "prompts of several lengths and an answer to each, through the engine: the blocks of the KV cache in use, and "
      "tokens per second of prompt and answer.";
  report.expected =
      "memory grows with the length, and each token takes longer, since it looks at all that came before it.";
  report.conclusion = conclude_context(rows);
  for (const ContextRow& row : rows)
    report.rows.push_back(context_json(row));
  report.columns = {{"context_tokens", "CONTEXT"},
                    {"kv_allocated_bytes", "KV MB", 2, 1e-6},
                    {"prefill_tokens_per_s", "PREFILL TOK/S", 1},
                    {"prefill_slowdown_x", "SLOWER", 2},
                    {"decode_tokens_per_s", "DECODE TOK/S", 1},
                    {"decode_slowdown_x", "SLOWER", 2}};
  report.plots = context_plots(rows);
  return report;
}

Report run_context(const Workbench& bench, const ContextOptions& options) {
  const auto lengths = bench.fitting(options.lengths, options.answer_tokens, 2);
  EngineRun run(bench, {.context_length = lengths.back() + options.answer_tokens, .prefix_cache = false});
  std::vector<ContextRuns> runs(lengths.size());
  const std::size_t num_rounds = run_rounds(bench, options.rounds, runs.size(), [&](std::size_t i) {
    run_length(bench, lengths[i], options.answer_tokens, run, runs[i]);
  });
  std::vector<ContextRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows.push_back({.context_length = lengths[i],
                    .kv_bytes = runs[i].kv_bytes,
                    .kv_forecast_bytes = forecast_kv(bench.network, lengths[i] + options.answer_tokens - 1),
                    .prefill_tokens_per_s = 1.0 / spread_of(runs[i].prompt_token_s).median,
                    .decode_tokens_per_s = 1.0 / spread_of(runs[i].answer_token_s).median,
                    .prefill_slowdown = ratio_of(runs[i].prompt_token_s, runs[0].prompt_token_s),
                    .decode_slowdown = ratio_of(runs[i].answer_token_s, runs[0].answer_token_s)});
  }
  Report report = context_report(rows);
  report.settings = {{"rounds", num_rounds}, {"answer_tokens", options.answer_tokens}};
  return report;
}

}  // namespace vitrine::lab
