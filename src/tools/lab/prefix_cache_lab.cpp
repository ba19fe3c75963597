#include "tools/lab/prefix_cache_lab.h"

#include <fmt/format.h>

#include "plan/formula.h"
#include "plot/plot.h"
#include "tools/lab/claim.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

using plan::grouped;

constexpr std::size_t kAnswer = 2;  // tokens: the first one is what counts

struct PrefixRuns {
  std::vector<double> ttft_s;
  std::size_t cached_tokens = 0;
};

std::vector<TokenId> prompt_with_prefix(const Workbench& bench, std::size_t shared_tokens, std::size_t own_tokens,
                                        std::size_t shared_seed, std::size_t own_seed) {
  std::vector<TokenId> prompt = arbitrary_prompt(bench, shared_tokens, shared_seed);
  const std::vector<TokenId> own = arbitrary_prompt(bench, own_tokens, own_seed);
  prompt.insert(prompt.end(), own.begin(), own.end());
  return prompt;
}

// Two prompts, one after the other; what the second one takes. Another seed each time, so that nothing older is found.
void run_pair(const Workbench& bench, std::size_t shared_tokens, std::size_t own_tokens, std::size_t seed,
              EngineRun& run, PrefixRuns& runs) {
  run.submit(exact_request(prompt_with_prefix(bench, shared_tokens, own_tokens, seed, seed + 1), kAnswer));
  run.finish();
  const std::size_t second =
      run.submit(exact_request(prompt_with_prefix(bench, shared_tokens, own_tokens, seed, seed + 2), kAnswer));
  run.finish();
  runs.ttft_s.push_back(run.outcome(second).ttft_s());
  runs.cached_tokens = run.outcome(second).cached_tokens;
  run.clear();
}

Json prefix_json(const PrefixCacheRow& row) {
  Json json = {{"shared_tokens", row.shared_tokens}, {"prompt_tokens", row.prompt_tokens},
               {"cached_tokens", row.cached_tokens}, {"ttft_without_s", row.ttft_without_s},
               {"ttft_with_s", row.ttft_with_s},     {"tokens_x", row.tokens_ratio}};
  add_ratio(json, "speedup", row.speedup);
  return json;
}

std::string prefix_plot(std::span<const PrefixCacheRow> rows) {
  plot::BarPlot picture{.title = "Time to the first token of the second prompt, ms",
                        .series = {"without", "with"},
                        .groups = {},
                        .values = {}};
  for (const PrefixCacheRow& row : rows) {
    picture.groups.push_back(fmt::format("{} shared", grouped(row.shared_tokens)));
    picture.values.push_back({1e3 * row.ttft_without_s, 1e3 * row.ttft_with_s});
  }
  return plot::bar_svg(picture);
}

}  // namespace

Conclusion conclude_prefix_cache(std::span<const PrefixCacheRow> rows) {
  std::vector<Claim> claims;
  for (const PrefixCacheRow& row : rows) {
    if (row.cached_tokens == 0) continue;
    const char* subject =
        claims.empty() ? "the time to the first token, without the cache to with it: sharing " : "sharing ";
    claims.push_back({fmt::format("{}{} of {} tokens", subject, grouped(row.shared_tokens), grouped(row.prompt_tokens)),
                      row.speedup});
  }
  if (claims.empty()) return {Verdict::kContradicts, "Nothing was found in the cache, though prompts began alike."};
  Conclusion conclusion = judge(claims);
  const PrefixCacheRow& last = rows.back();
  conclusion.text +=
      fmt::format(" By tokens alone the last would be {}; blocks of 16 tokens are shared, {} tokens here.",
                  times(last.tokens_ratio), grouped(last.cached_tokens));
  if (rows.front().cached_tokens == 0)
    conclusion.text += fmt::format(" Where nothing is shared: {}.", times(rows.front().speedup));
  return conclusion;
}

Report prefix_cache_report(std::span<const PrefixCacheRow> rows) {
  Report report;
  report.name = "prefix-cache";
  report.title = "A prompt whose beginning was seen before";
  report.measured =
      "two prompts with the same beginning, one after the other, through the engine with and without its prefix cache: "
      "the time to the second one's first token (TTFT).";
  report.expected = "what prompts have in common is computed once; the longer it is, the sooner the first token.";
  report.conclusion = conclude_prefix_cache(rows);
  for (const PrefixCacheRow& row : rows)
    report.rows.push_back(prefix_json(row));
  report.columns = {{"shared_tokens", "SHARED"},        {"prompt_tokens", "PROMPT"},
                    {"cached_tokens", "CACHED"},        {"ttft_without_s", "TTFT WITHOUT MS", 1, 1e3},
                    {"ttft_with_s", "WITH MS", 1, 1e3}, {"speedup_x", "FASTER", 2},
                    {"tokens_x", "BY TOKENS", 2}};
  report.plots = {prefix_plot(rows)};
  return report;
}

Report run_prefix_cache(const Workbench& bench, const PrefixCacheOptions& options) {
  const auto shared = bench.fitting(options.shared_tokens, options.own_tokens + kAnswer, 2);
  engine::EngineConfig config;
  config.context_length = shared.back() + options.own_tokens + kAnswer;
  config.kv_memory_bytes = kv_bytes_for(bench, 2 * config.context_length);
  EngineRun with(bench, config);
  config.prefix_cache = false;
  EngineRun without(bench, config);
  std::vector<PrefixRuns> runs(2 * shared.size());
  std::size_t seed = 0;
  const std::size_t num_rounds = run_rounds(bench, options.rounds, runs.size(), [&](std::size_t i) {
    run_pair(bench, shared[i / 2], options.own_tokens, seed += 3, i % 2 == 0 ? with : without, runs[i]);
  });
  std::vector<PrefixCacheRow> rows;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const PrefixRuns& cached = runs[2 * i];
    const PrefixRuns& fresh = runs[2 * i + 1];
    const std::size_t prompt_tokens = shared[i] + options.own_tokens;
    rows.push_back(
        {.shared_tokens = shared[i],
         .prompt_tokens = prompt_tokens,
         .cached_tokens = cached.cached_tokens,
         .ttft_with_s = spread_of(cached.ttft_s).median,
         .ttft_without_s = spread_of(fresh.ttft_s).median,
         .tokens_ratio = static_cast<double>(prompt_tokens) / static_cast<double>(prompt_tokens - cached.cached_tokens),
         .speedup = ratio_of(fresh.ttft_s, cached.ttft_s)});
  }
  Report report = prefix_cache_report(rows);
  report.settings = {{"rounds", num_rounds}, {"own_tokens", options.own_tokens}};
  return report;
}

}  // namespace vitrine::lab
