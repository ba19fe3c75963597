#include "tools/lab/prefill_decode_lab.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "plan/formula.h"
#include "plan/kv_layout.h"
#include "plan/speed.h"
#include "plot/plot.h"
#include "tools/bench/bandwidth.h"
#include "tools/bench/kernel_bench.h"
#include "tools/lab/claim.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

constexpr std::size_t kDecodePrompt = 16;
constexpr std::size_t kMostRowsMultiplied = 256;
constexpr std::size_t kGeneratedRowsMultiplied = 64;
constexpr std::size_t kBandwidthReads = 3;
constexpr std::size_t kMostBytesRead = std::size_t{512} << 20U;

struct RooflineCase {
  bool is_prefill = false;
  std::size_t num_rows = 0;
  double flops = 0.0;
  double bytes = 0.0;
  std::vector<double> step_s;  // a round each
};

struct RoofRuns {
  std::vector<double> read, prompt, generated;  // a round each

  Roofs medians() const { return {spread_of(read).median, spread_of(prompt).median, spread_of(generated).median}; }
};

double kv_bytes_at(const Workbench& bench, std::size_t num_tokens) {
  const std::size_t row_bytes = plan::kv_row_bytes(bench.network.kv, tensor::DType::kF16).value_or_throw();
  return static_cast<double>(plan::kv_bytes(bench.network.kv, row_bytes, num_tokens));
}

plan::StepReads reads_of(const Workbench& bench) {
  const auto expert_bytes = static_cast<double>(bench.model.expert_bytes());
  return {.always_bytes = static_cast<double>(bench.model.weight_bytes()) - expert_bytes, .expert_bytes = expert_bytes};
}

// The weights once, and the keys and values that the rows write and read.
RooflineCase prefill_case(const Workbench& bench, std::size_t num_rows) {
  const auto rows = static_cast<double>(num_rows);
  return {.is_prefill = true,
          .num_rows = num_rows,
          .flops = rows * plan::mean_prompt_flops(bench.network, num_rows),
          .bytes = plan::bytes_of_step(reads_of(bench), bench.network.config.experts, 0.0, num_rows) +
                   kv_bytes_at(bench, num_rows),
          .step_s = {}};
}

RooflineCase decode_case(const Workbench& bench, std::size_t batch, std::size_t answer_tokens) {
  const std::size_t length = kDecodePrompt + answer_tokens / 2;
  return {
      .is_prefill = false,
      .num_rows = batch,
      .flops = static_cast<double>(batch) * plan::flops_of_token(bench.network, static_cast<double>(length)),
      .bytes = plan::bytes_of_step(reads_of(bench), bench.network.config.experts, kv_bytes_at(bench, length), batch),
      .step_s = {}};
}

double run_prefill_step(const Workbench& bench, std::size_t num_rows, EngineRun& run) {
  const std::size_t request = run.submit(exact_request(arbitrary_prompt(bench, num_rows, 1), 1));
  run.finish();
  const double seconds = run.outcome(request).ttft_s();
  run.clear();
  return seconds;
}

// The median step in which every answer gets a token and nothing else is computed.
double run_decode_steps(const Workbench& bench, std::size_t batch, std::size_t answer_tokens, EngineRun& run) {
  for (std::size_t i = 0; i < batch; ++i)
    run.submit(exact_request(arbitrary_prompt(bench, kDecodePrompt, i), answer_tokens));
  const auto have_all_begun = [&run] {
    return std::ranges::none_of(run.outcomes(), [](const Outcome& outcome) { return outcome.tokens.empty(); });
  };
  const auto is_any_done = [&run] { return std::ranges::any_of(run.outcomes(), &Outcome::has_ended); };
  std::vector<double> steps;
  while (!is_any_done()) {
    const bool is_whole = have_all_begun();
    const double before_s = run.now_s();
    run.step();
    if (is_whole) steps.push_back(run.now_s() - before_s);
  }
  run.finish();
  run.clear();
  return spread_of(steps).median;
}

void measure_roofs(const Workbench& bench, base::ThreadPool& pool, RoofRuns& roofs) {
  const tensor::DType type = plan::usual_type(bench.network);
  const std::size_t bytes = std::min(bench.model.weight_bytes(), kMostBytesRead);
  roofs.read.push_back(tools::median(tools::read_bandwidth(pool, bytes, kBandwidthReads)));
  roofs.prompt.push_back(tools::multiply_rate(bench.backend, type, kMostRowsMultiplied, ops::Role::kPrompt));
  roofs.generated.push_back(tools::multiply_rate(bench.backend, type, kGeneratedRowsMultiplied, ops::Role::kGenerated));
}

RooflineRow roofline_row(const RooflineCase& what, const RoofRuns& roofs) {
  RooflineRow row{.is_prefill = what.is_prefill,
                  .num_rows = what.num_rows,
                  .step_s = spread_of(what.step_s).median,
                  .flops = what.flops,
                  .bytes = what.bytes};
  const std::vector<double>& multiply = what.is_prefill ? roofs.prompt : roofs.generated;
  std::vector<double> compute;
  std::vector<double> memory;
  for (std::size_t i = 0; i < what.step_s.size(); ++i) {
    compute.push_back(what.flops / what.step_s[i] / multiply[i]);
    memory.push_back(what.bytes / what.step_s[i] / roofs.read[i]);
  }
  row.compute_share = spread_of(compute).median;
  row.memory_share = spread_of(memory).median;
  row.balance = ratio_of(compute, memory);
  return row;
}

std::string bound_of(const RooflineRow& row) {
  switch (compare(row.balance)) {
    case Comparison::kMore:
      return "compute";
    case Comparison::kLess:
      return "memory";
    case Comparison::kSame:
      return "both";
    case Comparison::kUnclear:
      break;
  }
  return "unclear";
}

Json roofline_json(const RooflineRow& row) {
  Json json = {{"phase", row.is_prefill ? "prefill" : "decode"},
               {"rows", row.num_rows},
               {"step_s", row.step_s},
               {"tokens_per_s", static_cast<double>(row.num_rows) / row.step_s},
               {"flops_per_step", row.flops},
               {"bytes_per_step", row.bytes},
               {"flops_per_byte", row.intensity()},
               {"flops_per_s", row.flops_per_s()},
               {"bytes_per_s", row.bytes_per_s()},
               {"compute_roof_share", row.compute_share},
               {"memory_roof_share", row.memory_share},
               {"bound", bound_of(row)}};
  add_ratio(json, "balance", row.balance);
  return json;
}

plot::Series roof_line(std::string name, double flops_per_s, double bytes_per_s, double low, double high) {
  const double ridge = flops_per_s / bytes_per_s;
  plot::Series series{.name = std::move(name), .points = {}, .has_line = true, .has_marks = false};
  for (const double intensity : {std::min(low, ridge), ridge, std::max(high, ridge)})
    series.points.emplace_back(intensity, std::min(flops_per_s, bytes_per_s * intensity) / 1e9);
  return series;
}

std::string roofline_plot(std::span<const RooflineRow> rows, const Roofs& roofs) {
  const auto [low, high] = std::ranges::minmax(rows, {}, &RooflineRow::intensity);
  plot::LinePlot picture{.title = "Roofline: billion operations per second against operations per byte read",
                         .x = {"operations per byte", plot::Scale::kLog},
                         .y = {"Gop/s", plot::Scale::kLog},
                         .series = {roof_line("roof, prompt rows", roofs.prompt_flops_per_s, roofs.read_bytes_per_s,
                                              low.intensity(), high.intensity()),
                                    roof_line("roof, generated rows", roofs.generated_flops_per_s,
                                              roofs.read_bytes_per_s, low.intensity(), high.intensity()),
                                    {.name = "prefill", .points = {}, .has_line = false, .has_marks = true},
                                    {.name = "decode", .points = {}, .has_line = false, .has_marks = true}}};
  for (const RooflineRow& row : rows)
    picture.series[row.is_prefill ? 2 : 3].points.emplace_back(row.intensity(), row.flops_per_s() / 1e9);
  return plot::line_svg(picture);
}

}  // namespace

Conclusion conclude_prefill_decode(std::span<const RooflineRow> rows, const Roofs& roofs) {
  const auto first_decode = std::ranges::find(rows, false, &RooflineRow::is_prefill);
  const RooflineRow& prompt = *std::prev(first_decode);
  const RooflineRow& answer = *first_decode;
  const std::vector<Claim> claims = {
      {fmt::format(
           "the share of the multiplying roof to that of the reading roof, a prompt of {} rows, {:.0f} % to {:.0f} "
           "%",
           prompt.num_rows, 100 * prompt.compute_share, 100 * prompt.memory_share),
       prompt.balance},
      {fmt::format("a single answer, {:.0f} % to {:.0f} %", 100 * answer.compute_share, 100 * answer.memory_share),
       answer.balance, Comparison::kLess}};
  Conclusion conclusion = judge(claims);
  const auto turned = std::find_if(first_decode, rows.end(),
                                   [](const RooflineRow& row) { return compare(row.balance) == Comparison::kMore; });
  conclusion.text += fmt::format(" The roofs meet at {:.0f} operations per byte for prompts and {:.0f} for answers; ",
                                 roofs.prompt_flops_per_s / roofs.read_bytes_per_s,
                                 roofs.generated_flops_per_s / roofs.read_bytes_per_s);
  conclusion.text +=
      turned == rows.end()
          ? fmt::format("up to {} answers at once, multiplying is not seen to bound them.", rows.back().num_rows)
          : fmt::format("{} answers at once are bound by multiplying as well.", turned->num_rows);
  return conclusion;
}

Report prefill_decode_report(std::span<const RooflineRow> rows, const Roofs& roofs) {
  Report report;
  report.name = "prefill-decode";
  report.title = "Prefill and decode under the roofline";
  report.measured =
      "steps of the engine with prompt rows and with answers, beside the bytes per second that these threads read and "
      "the operations per second that these kernels multiply, taken between the runs.";
  report.expected =
      "prefill is bound by computing, decode by memory; more answers at once move decode towards computing.";
  report.conclusion = conclude_prefill_decode(rows, roofs);
  for (const RooflineRow& row : rows)
    report.rows.push_back(roofline_json(row));
  report.columns = {{"phase", "PHASE"},
                    {"rows", "ROWS"},
                    {"step_s", "STEP MS", 2, 1e3},
                    {"tokens_per_s", "TOK/S", 0},
                    {"flops_per_byte", "OPS/BYTE", 1},
                    {"flops_per_s", "GOP/S", 1, 1e-9},
                    {"compute_roof_share", "OF ITS ROOF %", 0, 1e2},
                    {"bytes_per_s", "GB/S", 2, 1e-9},
                    {"memory_roof_share", "OF ITS ROOF %", 0, 1e2},
                    {"bound", "BOUND BY"}};
  report.plots = {roofline_plot(rows, roofs)};
  report.settings = {{"read_bytes_per_s", roofs.read_bytes_per_s},
                     {"prompt_flops_per_s", roofs.prompt_flops_per_s},
                     {"generated_flops_per_s", roofs.generated_flops_per_s}};
  return report;
}

Report run_prefill_decode(const Workbench& bench, const PrefillDecodeOptions& options) {
  std::vector<RooflineCase> cases;
  for (const std::size_t num_rows : bench.fitting(options.prompt_rows, 1, 1))
    cases.push_back(prefill_case(bench, num_rows));
  const std::size_t longest = std::max(cases.back().num_rows + 1, kDecodePrompt + options.answer_tokens);
  for (const std::size_t batch : options.batches)
    cases.push_back(decode_case(bench, batch, options.answer_tokens));
  const std::size_t answer_room = kDecodePrompt + options.answer_tokens + 2 * kvcache::kBlockTokens;
  EngineRun run(bench, {.context_length = longest,
                        .kv_memory_bytes = kv_bytes_for(bench, longest + options.batches.back() * answer_room),
                        .max_sequences = options.batches.back(),
                        .max_chunk_tokens = options.prompt_rows.back(),
                        .prefix_cache = false});
  base::ThreadPool pool(bench.num_threads);
  RoofRuns roofs;
  // The roofs are the last case of a round, so that each round has its own.
  const std::size_t num_rounds = run_rounds(bench, options.rounds, cases.size() + 1, [&](std::size_t i) {
    if (i == cases.size()) return measure_roofs(bench, pool, roofs);
    RooflineCase& what = cases[i];
    what.step_s.push_back(what.is_prefill ? run_prefill_step(bench, what.num_rows, run)
                                          : run_decode_steps(bench, what.num_rows, options.answer_tokens, run));
  });
  std::vector<RooflineRow> rows;
  for (const RooflineCase& what : cases)
    rows.push_back(roofline_row(what, roofs));
  Report report = prefill_decode_report(rows, roofs.medians());
  report.settings["rounds"] = num_rounds;
  return report;
}

}  // namespace vitrine::lab
