#include "trace/latency.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace vitrine::trace {

std::optional<double> percentile(std::span<const double> values, double q) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - std::floor(rank));
}

LatencySummary summarise_latency(double request_time_s, std::span<const double> token_times_s) {
  LatencySummary summary;
  if (token_times_s.empty()) return summary;
  summary.ttft_s = token_times_s.front() - request_time_s;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < token_times_s.size(); ++i)
    gaps.push_back(token_times_s[i] - token_times_s[i - 1]);
  if (gaps.empty()) return summary;
  summary.itl_p50_s = percentile(gaps, 0.5);
  summary.itl_p99_s = percentile(gaps, 0.99);
  summary.tpot_s = (token_times_s.back() - token_times_s.front()) / static_cast<double>(gaps.size());
  return summary;
}

}  // namespace vitrine::trace
