#include "tools/load/load_report.h"

#include <algorithm>
#include <vector>

#include "trace/latency.h"

namespace vitrine::tools {
namespace {

Percentiles percentiles_of(const std::vector<double>& values) {
  return {trace::percentile(values, 0.5), trace::percentile(values, 0.9), trace::percentile(values, 0.99)};
}

double ttft_of(const LoadOutcome& outcome) {
  return outcome.piece_times_s.front() - outcome.start_s;
}

// By tokens, since a piece of text may hold several.
std::optional<double> tpot_of(const LoadOutcome& outcome) {
  if (outcome.completion_tokens < 2 || outcome.piece_times_s.size() < 2) return std::nullopt;
  return (outcome.piece_times_s.back() - outcome.piece_times_s.front()) /
         static_cast<double>(outcome.completion_tokens - 1);
}

bool keeps(const LoadOutcome& outcome, const LoadLimits& limits) {
  if (!outcome.error.empty() || outcome.piece_times_s.empty()) return false;
  const auto tpot = tpot_of(outcome);
  return (!limits.ttft_s || ttft_of(outcome) <= *limits.ttft_s) && (!limits.tpot_s || !tpot || *tpot <= *limits.tpot_s);
}

struct Samples {
  std::vector<double> ttft, itl, tpot, e2e;

  void add(const LoadOutcome& outcome) {
    e2e.push_back(outcome.end_s - outcome.start_s);
    const std::vector<double>& times = outcome.piece_times_s;
    if (times.empty()) return;
    ttft.push_back(ttft_of(outcome));
    for (std::size_t i = 1; i < times.size(); ++i)
      itl.push_back(times[i] - times[i - 1]);
    if (const auto gap = tpot_of(outcome)) tpot.push_back(*gap);
  }
};

}  // namespace

LoadReport summarise_load(std::span<const LoadOutcome> outcomes, const LoadLimits& limits) {
  LoadReport report;
  Samples samples;
  double output_tokens = 0.0;
  double num_good = 0.0;
  for (const LoadOutcome& outcome : outcomes) {
    ++report.num_requests;
    report.wall_s = std::max(report.wall_s, outcome.end_s);
    num_good += keeps(outcome, limits) ? 1.0 : 0.0;
    if (!outcome.error.empty()) {
      ++report.num_errors;
      if (report.first_error.empty()) report.first_error = outcome.error;
      continue;
    }
    samples.add(outcome);
    output_tokens += static_cast<double>(outcome.completion_tokens);
    report.prompt_tokens += static_cast<double>(outcome.prompt_tokens);
    report.cached_tokens += static_cast<double>(outcome.cached_tokens);
  }
  const auto num_good_answers = static_cast<double>(std::max<std::size_t>(1, samples.e2e.size()));
  report.prompt_tokens /= num_good_answers;
  report.cached_tokens /= num_good_answers;
  report.completion_tokens = output_tokens / num_good_answers;
  if (report.wall_s > 0.0) {
    report.requests_per_s = static_cast<double>(samples.e2e.size()) / report.wall_s;
    report.output_tokens_per_s = output_tokens / report.wall_s;
  }
  report.ttft_s = percentiles_of(samples.ttft);
  report.itl_s = percentiles_of(samples.itl);
  report.tpot_s = percentiles_of(samples.tpot);
  report.e2e_s = percentiles_of(samples.e2e);
  if ((limits.ttft_s || limits.tpot_s) && report.num_requests > 0)
    report.goodput = num_good / static_cast<double>(report.num_requests);
  return report;
}

}  // namespace vitrine::tools
