#include "server/recent_activity.h"

#include <algorithm>

namespace vitrine::server {
namespace {

std::int64_t number_of(RecentActivity::Clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count();
}

double take_nth(std::vector<double>& values, double share) {
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, nth);
  return *nth;
}

std::optional<RecentActivity::Percentiles> percentiles(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  return RecentActivity::Percentiles{.p50_s = take_nth(values, 0.5), .p99_s = take_nth(values, 0.99)};
}

}  // namespace

RecentActivity::Second* RecentActivity::find(Clock::time_point when) {
  const std::int64_t number = number_of(when);
  Second& second = ring_[static_cast<std::size_t>(number) % ring_.size()];
  if (second.number > number) return nullptr;
  if (second.number < number) second = {.number = number};
  return &second;
}

const RecentActivity::Second* RecentActivity::at(std::int64_t number) const {
  const Second& second = ring_[static_cast<std::size_t>(number) % ring_.size()];
  return second.number == number ? &second : nullptr;
}

void RecentActivity::add_tokens(Clock::time_point when, std::size_t num_tokens) {
  if (Second* second = find(when)) second->num_tokens += num_tokens;
}

void RecentActivity::add_first_token(Clock::time_point when, double ttft_s) {
  Second* second = find(when);
  if (second != nullptr && second->ttfts_s.size() < kMaxSamples) second->ttfts_s.push_back(ttft_s);
}

void RecentActivity::add_gap(Clock::time_point when, double gap_s) {
  Second* second = find(when);
  if (second != nullptr && second->gaps_s.size() < kMaxSamples) second->gaps_s.push_back(gap_s);
}

std::vector<RecentActivity::Summary> RecentActivity::seconds(Clock::time_point now) const {
  std::vector<Summary> all(kNumSeconds);
  const std::int64_t first = number_of(now) - static_cast<std::int64_t>(kNumSeconds);
  for (std::size_t i = 0; i < kNumSeconds; ++i) {
    if (const Second* second = at(first + static_cast<std::int64_t>(i)))
      all[i] = {second->num_tokens, percentiles(second->ttfts_s), percentiles(second->gaps_s)};
  }
  return all;
}

RecentActivity::Summary RecentActivity::whole(Clock::time_point now) const {
  Summary summary;
  std::vector<double> ttfts_s;
  std::vector<double> gaps_s;
  const std::int64_t last = number_of(now);
  for (std::int64_t number = last - static_cast<std::int64_t>(kNumSeconds); number <= last; ++number) {
    const Second* second = at(number);
    if (second == nullptr) continue;
    summary.num_tokens += second->num_tokens;
    ttfts_s.insert(ttfts_s.end(), second->ttfts_s.begin(), second->ttfts_s.end());
    gaps_s.insert(gaps_s.end(), second->gaps_s.begin(), second->gaps_s.end());
  }
  summary.ttft = percentiles(std::move(ttfts_s));
  summary.itl = percentiles(std::move(gaps_s));
  return summary;
}

}  // namespace vitrine::server
