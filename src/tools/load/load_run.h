#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vitrine::tools {

// The endpoint and what each request asks of it.
struct LoadTarget {
  std::string url;  // up to and with "/v1"
  std::string model;
  std::string api_key;  // empty: none is sent
  std::size_t max_tokens = 64;
  bool ignore_eos = false;  // not every endpoint knows this field
  double timeout_s = 600;
};

// Which requests, and when each begins.
struct LoadSchedule {
  std::vector<std::string> prompts;  // one request each, in this order
  std::size_t concurrency = 1;       // closed loop: so many at once, the next begins when one ends
  // Open loop: seconds after the start at which each request begins, ascending, whether others have ended or not.
  std::vector<double> starts_s;
};

// The seconds of Poisson arrivals at `rate` requests per second, the same for the same seed.
std::vector<double> poisson_starts(std::size_t num_requests, double rate, std::uint64_t seed);

// How one request went. Times are seconds after the start of the run.
struct LoadOutcome {
  double start_s = 0.0;  // when it was due: what a request waits to be sent counts as its own time
  double end_s = 0.0;
  std::vector<double> piece_times_s;  // when each piece of text came
  std::size_t prompt_tokens = 0;      // as the endpoint counts them; 0 where it says nothing
  std::size_t completion_tokens = 0;  // the same, or the number of pieces
  std::size_t cached_tokens = 0;
  std::string error;  // empty: none
};

// Sends streamed chat completions and waits for all to end. `on_end` (may be null) is called after each. On one thread;
// throws base::Exception (kUnavailable) where nothing answers at all.
std::vector<LoadOutcome> run_load(const LoadTarget& target, const LoadSchedule& schedule,
                                  const std::function<void(std::size_t num_ended)>& on_end);

}  // namespace vitrine::tools
