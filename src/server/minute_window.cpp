#include "server/minute_window.h"

namespace vitrine::server {

void MinuteWindow::forget(Clock::time_point now) {
  while (!uses_.empty() && now - uses_.front().when >= kLength) {
    sum_ -= uses_.front().amount;
    uses_.pop_front();
  }
}

void MinuteWindow::add(Clock::time_point now, std::int64_t amount) {
  forget(now);
  uses_.push_back({now, amount});
  sum_ += amount;
}

void MinuteWindow::take_back(Clock::time_point when, std::int64_t amount) {
  for (auto use = uses_.rbegin(); use != uses_.rend() && use->when >= when; ++use) {
    if (use->when != when || use->amount != amount) continue;
    use->amount = 0;
    sum_ -= amount;
    return;
  }
}

std::int64_t MinuteWindow::sum(Clock::time_point now) {
  forget(now);
  return sum_;
}

MinuteWindow::Clock::duration MinuteWindow::time_until(Clock::time_point now, std::int64_t most) {
  forget(now);
  std::int64_t left = sum_;
  Clock::duration wait{};
  for (const Use& use : uses_) {
    if (left <= most) break;
    left -= use.amount;
    wait = use.when + kLength - now;
  }
  return wait;
}

}  // namespace vitrine::server
