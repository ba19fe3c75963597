#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace vitrine::server {

// What was used in the last sixty seconds. It slides: a sum that a limit allows is one of any sixty seconds, where
// windows with fixed borders, or a bucket that is filled again, would let twice as much through at a border. One entry
// for each time of use is the price.
class MinuteWindow {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kLength = std::chrono::minutes(1);

  void add(Clock::time_point now, std::int64_t amount);
  // Undoes an add() of these very values.
  void take_back(Clock::time_point when, std::int64_t amount);
  std::int64_t sum(Clock::time_point now);
  // From now until no more than `most` (0 or above) of what it holds is left in it.
  Clock::duration time_until(Clock::time_point now, std::int64_t most);

 private:
  struct Use {
    Clock::time_point when;
    std::int64_t amount;
  };

  void forget(Clock::time_point now);

  std::deque<Use> uses_;
  std::int64_t sum_ = 0;
};

}  // namespace vitrine::server
