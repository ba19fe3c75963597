#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace vitrine::server {

// What the last two minutes gave, second by second: tokens generated, times to the first token, gaps between tokens.
// Bounded memory: a second keeps its first kMaxSamples gaps. Used on the thread of the sockets.
class RecentActivity {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kNumSeconds = 120;
  static constexpr std::size_t kMaxSamples = 256;

  struct Percentiles {
    double p50_s = 0.0;
    double p99_s = 0.0;
  };
  // A second that is over, or all of them together.
  struct Summary {
    std::size_t num_tokens = 0;
    std::optional<Percentiles> ttft = {};
    std::optional<Percentiles> itl = {};
  };

  // Events may come late and in any order; what is older than the window is dropped.
  void add_tokens(Clock::time_point when, std::size_t num_tokens);
  void add_first_token(Clock::time_point when, double ttft_s);
  void add_gap(Clock::time_point when, double gap_s);

  // The seconds before `now`, the oldest first, without the one that has begun.
  std::vector<Summary> seconds(Clock::time_point now) const;
  Summary whole(Clock::time_point now) const;

 private:
  struct Second {
    std::int64_t number = -1;  // of the clock; -1: nothing yet
    std::size_t num_tokens = 0;
    std::vector<double> ttfts_s = {};
    std::vector<double> gaps_s = {};
  };

  Second* find(Clock::time_point when);
  const Second* at(std::int64_t number) const;

  std::array<Second, kNumSeconds + 1> ring_;
};

}  // namespace vitrine::server
