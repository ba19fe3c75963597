#include "tools/lab/spread.h"

#include <algorithm>

#include <fmt/format.h>

#include "trace/latency.h"

namespace vitrine::lab {

Spread spread_of(std::span<const double> runs) {
  return {.median = trace::percentile(runs, 0.5).value_or(0.0),
          .low = trace::percentile(runs, 0.25).value_or(0.0),
          .high = trace::percentile(runs, 0.75).value_or(0.0),
          .num_runs = runs.size()};
}

Spread ratio_of(std::span<const double> numerators, std::span<const double> denominators) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(numerators.size(), denominators.size()); ++i)
    if (denominators[i] > 0.0) ratios.push_back(numerators[i] / denominators[i]);
  return spread_of(ratios);
}

Comparison compare(const Spread& ratio, double margin) {
  const double most = 1.0 + margin;
  const double least = 1.0 / most;
  if (ratio.num_runs < kFewestRuns) return Comparison::kUnclear;
  if (ratio.low >= least && ratio.high <= most) return Comparison::kSame;
  if (ratio.low > 1.0 && ratio.median > most) return Comparison::kMore;
  if (ratio.high < 1.0 && ratio.median < least) return Comparison::kLess;
  return Comparison::kUnclear;
}

std::string times(double ratio) {
  if (ratio >= 10.0) return fmt::format("{:.0f}x", ratio);
  return fmt::format("{:.{}f}x", ratio, ratio >= 1.0 ? 1 : 2);
}

std::string times(const Spread& ratio) {
  const std::string low = times(ratio.low);
  const std::string high = times(ratio.high);
  if (low == high) return times(ratio.median);
  return fmt::format("{} ({} to {})", times(ratio.median), low.substr(0, low.size() - 1),
                     high.substr(0, high.size() - 1));
}

}  // namespace vitrine::lab
