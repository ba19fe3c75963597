#include "tools/lab/paged_lab.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "plot/plot.h"
#include "tools/lab/claim.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

// What was seen between the steps of one run.
struct PagedRun {
  std::size_t num_steps = 0;
  std::size_t most_users = 0;
  double users = 0.0;            // summed over the steps
  double reserved_tokens = 0.0;  // the same
  double written_tokens = 0.0;
  std::size_t num_preemptions = 0;
  double tokens_per_s = 0.0;
  double latency_s = 0.0;

  double mean_users() const { return users / static_cast<double>(std::max<std::size_t>(1, num_steps)); }
  double wasted_share() const { return reserved_tokens > 0.0 ? 1.0 - written_tokens / reserved_tokens : 0.0; }
};

struct PagedRuns {
  std::vector<double> users, wasted_share, reserved_tokens, tokens_per_s, latency_s;
  std::size_t most_users = 0;
  std::size_t num_preemptions = 0;

  void add(const PagedRun& run) {
    users.push_back(run.mean_users());
    wasted_share.push_back(run.wasted_share());
    reserved_tokens.push_back(run.reserved_tokens / static_cast<double>(std::max<std::size_t>(1, run.num_steps)));
    tokens_per_s.push_back(run.tokens_per_s);
    latency_s.push_back(run.latency_s);
    most_users = std::max(most_users, run.most_users);
    num_preemptions = std::max(num_preemptions, run.num_preemptions);
  }
};

engine::EngineConfig paged_config(const Workbench& bench, const PagedOptions& options, KvReservation kind) {
  engine::EngineConfig config;
  config.context_length = options.context_length;
  config.kv_memory_bytes = kv_bytes_for(bench, options.kv_tokens);
  config.max_sequences = options.num_requests;
  config.prefix_cache = false;
  config.contiguous_kv = kind != KvReservation::kPaged;
  return config;
}

void observe(EngineRun& run, PagedRun& seen) {
  const engine::EngineSnapshot snapshot = run.engine().snapshot();
  if (snapshot.stats.num_running == 0) return;
  ++seen.num_steps;
  seen.most_users = std::max(seen.most_users, snapshot.stats.num_running);
  seen.users += static_cast<double>(snapshot.stats.num_running);
  for (const engine::SequenceStats& sequence : snapshot.sequences) {
    if (!sequence.is_running) continue;
    seen.reserved_tokens += static_cast<double>(sequence.num_blocks * kvcache::kBlockTokens);
    seen.written_tokens += static_cast<double>(sequence.computed_tokens);
  }
}

PagedRun run_reservation(const Workbench& bench, const PagedOptions& options, KvReservation kind, EngineRun& run) {
  PagedRun seen;
  const double start_s = run.now_s();
  const std::size_t preempted_before = run.engine().stats().num_preemptions;
  std::size_t num_tokens = 0;
  for (std::size_t i = 0; i < options.num_requests; ++i) {
    engine::Request request = exact_request(arbitrary_prompt(bench, options.prompt_tokens, i), options.max_tokens);
    if (kind == KvReservation::kContext) request.max_tokens.reset();
    const std::size_t answer = options.answer_tokens[i % options.answer_tokens.size()];
    num_tokens += answer;
    run.submit(std::move(request), answer);
  }
  while (run.engine().has_work()) {
    run.step();
    observe(run, seen);
  }
  std::vector<double> latencies;
  for (const Outcome& outcome : run.outcomes())
    latencies.push_back(outcome.total_s());
  seen.tokens_per_s = static_cast<double>(num_tokens) / (run.now_s() - start_s);
  seen.latency_s = spread_of(latencies).median;
  seen.num_preemptions = run.engine().stats().num_preemptions - preempted_before;
  run.clear();
  return seen;
}

Json paged_json(const PagedRow& row) {
  Json json = {{"kv_layout", reservation_name(row.kind)},
               {"users_max", row.most_users},
               {"users_mean", row.users},
               {"reserved_bytes", row.reserved_bytes},
               {"wasted_bytes", row.reserved_bytes * row.wasted_share},
               {"wasted_share", row.wasted_share},
               {"preemptions", row.num_preemptions},
               {"tokens_per_s", row.tokens_per_s},
               {"latency_p50_s", row.latency_s}};
  add_ratio(json, "users", row.users_to_context);
  add_ratio(json, "waste", row.waste_to_context);
  add_ratio(json, "speedup", row.speed_to_context);
  return json;
}

std::vector<std::string> paged_plots(std::span<const PagedRow> rows) {
  plot::BarPlot users{
      .title = "Users at once on the same KV memory", .series = {"most", "mean"}, .groups = {}, .values = {}};
  plot::BarPlot waste{
      .title = "Reserved bytes that hold nothing, of a hundred", .series = {"%"}, .groups = {}, .values = {}};
  plot::BarPlot speed{
      .title = "Tokens per second, all answers together", .series = {"tokens/s"}, .groups = {}, .values = {}};
  for (const PagedRow& row : rows) {
    for (plot::BarPlot* picture : {&users, &waste, &speed})
      picture->groups.emplace_back(reservation_name(row.kind));
    users.values.push_back({static_cast<double>(row.most_users), row.users});
    waste.values.push_back({100.0 * row.wasted_share});
    speed.values.push_back({row.tokens_per_s});
  }
  return {plot::bar_svg(users), plot::bar_svg(waste), plot::bar_svg(speed)};
}

}  // namespace

std::string_view reservation_name(KvReservation kind) {
  constexpr std::array<std::string_view, kReservations.size()> kNames = {"contiguous, the whole context",
                                                                         "contiguous, max_tokens", "paged"};
  return kNames[static_cast<std::size_t>(kind)];
}

Conclusion conclude_paged(std::span<const PagedRow> rows) {
  const PagedRow& context = rows[static_cast<std::size_t>(KvReservation::kContext)];
  const PagedRow& paged = rows[static_cast<std::size_t>(KvReservation::kPaged)];
  const std::vector<Claim> claims = {
      {"users at once, paged to contiguous reservations of the whole context", paged.users_to_context},
      {"the share of reserved bytes that hold nothing", paged.waste_to_context, Comparison::kLess},
      {"tokens per second", paged.speed_to_context}};
  Conclusion conclusion = judge(claims);
  conclusion.text += fmt::format(" {:.0f} % of what was reserved held nothing, paged {:.0f} %.",
                                 100.0 * context.wasted_share, 100.0 * paged.wasted_share);
  return conclusion;
}

Report paged_report(std::span<const PagedRow> rows) {
  Report report;
  report.name = "paged";
  report.title = "A contiguous and a paged KV cache";
  report.measured =
      "the same requests on the same KV memory, through the engine: one run of memory for the longest that each can "
      "become, or blocks of 16 tokens as they are needed. Answers end before their max_tokens, as they do in life.";
  report.expected = "paging wastes nearly nothing, so more users fit at once and more tokens are made per second.";
  report.conclusion = conclude_paged(rows);
  for (const PagedRow& row : rows)
    report.rows.push_back(paged_json(row));
  report.columns = {{"kv_layout", "KV CACHE"},
                    {"users_max", "MOST USERS"},
                    {"users_mean", "MEAN", 1},
                    {"reserved_bytes", "RESERVED MB", 1, 1e-6},
                    {"wasted_bytes", "WASTED MB", 1, 1e-6},
                    {"wasted_share", "WASTED %", 0, 1e2},
                    {"preemptions", "PREEMPTED"},
                    {"tokens_per_s", "TOK/S", 1},
                    {"speedup_x", "TO THE FIRST", 2},
                    {"latency_p50_s", "LATENCY P50 MS", 0, 1e3}};
  report.plots = paged_plots(rows);
  return report;
}

Report run_paged(const Workbench& bench, const PagedOptions& options) {
  VT_CHECK(options.kv_tokens >= options.context_length, "one request of the whole context must fit");
  const std::array<std::size_t, 1> most = {options.context_length};
  bench.fitting(most, 0, 1);
  std::vector<std::unique_ptr<EngineRun>> engines;
  for (const KvReservation kind : kReservations)
    engines.push_back(std::make_unique<EngineRun>(bench, paged_config(bench, options, kind)));
  std::array<PagedRuns, kReservations.size()> runs;
  const std::size_t num_rounds = run_rounds(bench, options.rounds, runs.size(), [&](std::size_t i) {
    runs[i].add(run_reservation(bench, options, kReservations[i], *engines[i]));
  });
  const double token_bytes =
      static_cast<double>(engines.front()->engine().stats().block_bytes) / static_cast<double>(kvcache::kBlockTokens);
  const PagedRuns& context = runs.front();
  std::vector<PagedRow> rows;
  for (const KvReservation kind : kReservations) {
    const PagedRuns& own = runs[static_cast<std::size_t>(kind)];
    rows.push_back({.kind = kind,
                    .most_users = own.most_users,
                    .users = spread_of(own.users).median,
                    .reserved_bytes = spread_of(own.reserved_tokens).median * token_bytes,
                    .wasted_share = spread_of(own.wasted_share).median,
                    .num_preemptions = own.num_preemptions,
                    .tokens_per_s = spread_of(own.tokens_per_s).median,
                    .latency_s = spread_of(own.latency_s).median,
                    .users_to_context = ratio_of(own.users, context.users),
                    .waste_to_context = ratio_of(own.wasted_share, context.wasted_share),
                    .speed_to_context = ratio_of(own.tokens_per_s, context.tokens_per_s)});
  }
  Report report = paged_report(rows);
  report.settings = {{"rounds", num_rounds},
                     {"requests", options.num_requests},
                     {"prompt_tokens", options.prompt_tokens},
                     {"max_tokens", options.max_tokens},
                     {"context_tokens", options.context_length},
                     {"kv_tokens", options.kv_tokens}};
  return report;
}

}  // namespace vitrine::lab
