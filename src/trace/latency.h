#pragma once

#include <optional>
#include <span>

namespace vitrine::trace {

// The value below which a share `q` in [0, 1] of the values lies, interpolated linearly between the two nearest ranks:
// of n sorted values, rank q * (n - 1). nullopt for no values.
std::optional<double> percentile(std::span<const double> values, double q);

// How a reader feels an answer, in seconds. What needs more tokens than there are is absent.
struct LatencySummary {
  std::optional<double> ttft_s;     // time to first token: from the request to its first token
  std::optional<double> itl_p50_s;  // inter-token latency: the gaps between neighbouring tokens
  std::optional<double> itl_p99_s;
  std::optional<double> tpot_s;  // time per output token after the first: the mean gap
};

// `token_times_s` are the moments at which tokens were made, ascending, on the clock of `request_time_s`.
LatencySummary summarise_latency(double request_time_s, std::span<const double> token_times_s);

}  // namespace vitrine::trace
