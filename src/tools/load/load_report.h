#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tools/load/load_run.h"

namespace vitrine::tools {

// Seconds below which 50, 90 and 99 of a hundred lie; absent where there is nothing to count.
struct Percentiles {
  std::optional<double> p50;
  std::optional<double> p90;
  std::optional<double> p99;
};

// What a run of requests shows. Failed requests count as errors and in nothing else.
struct LoadReport {
  std::size_t num_requests = 0;
  std::size_t num_errors = 0;
  std::string first_error;
  double wall_s = 0.0;
  double requests_per_s = 0.0;
  double output_tokens_per_s = 0.0;
  double prompt_tokens = 0.0;  // of a request, the mean
  double completion_tokens = 0.0;
  double cached_tokens = 0.0;
  Percentiles ttft_s;             // from the moment a request was due to its first text
  Percentiles itl_s;              // each gap between two pieces of text
  Percentiles tpot_s;             // the mean gap of each request, by its tokens
  Percentiles e2e_s;              // from the moment a request was due to its end
  std::optional<double> goodput;  // share of all requests that kept the limits, where there are any
};

// Limits that a request must keep to be of use to its reader; absent: any time will do.
struct LoadLimits {
  std::optional<double> ttft_s;
  std::optional<double> tpot_s;
};

LoadReport summarise_load(std::span<const LoadOutcome> outcomes, const LoadLimits& limits);

}  // namespace vitrine::tools
