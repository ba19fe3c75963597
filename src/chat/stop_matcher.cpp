#include "chat/stop_matcher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace vitrine::chat {
namespace {

// border[i]: the length of the longest proper prefix of text[0..i] that is also its suffix.
std::vector<std::size_t> borders(std::string_view text) {
  std::vector<std::size_t> border(text.size(), 0);
  std::size_t length = 0;
  for (std::size_t end = 1; end < text.size(); ++end) {
    while (length > 0 && text[end] != text[length])
      length = border[length - 1];
    if (text[end] == text[length]) ++length;
    border[end] = length;
  }
  return border;
}

}  // namespace

base::Result<StopMatcher> StopMatcher::create(std::vector<std::string> stops) {
  if (stops.size() > kMaxStops) {
    return base::usage_error(fmt::format("stop: {} stop strings, the limit is {}", stops.size(), kMaxStops));
  }
  std::vector<Pattern> patterns;
  for (std::string& stop : stops) {
    if (stop.empty() || stop.size() > kMaxStopBytes) {
      return base::usage_error(fmt::format("stop: a stop string must have 1 to {} bytes", kMaxStopBytes));
    }
    auto border = borders(stop);
    patterns.push_back({std::move(stop), std::move(border), 0});
  }
  return StopMatcher(std::move(patterns));
}

void StopMatcher::step(char byte) {
  ++position_;
  for (std::size_t idx = 0; idx < patterns_.size(); ++idx) {
    Pattern& pattern = patterns_[idx];
    std::size_t matched = pattern.num_matched;
    while (matched > 0 && pattern.text[matched] != byte)
      matched = pattern.border[matched - 1];
    if (pattern.text[matched] == byte) ++matched;
    if (matched == pattern.text.size()) {
      const std::size_t start = position_ - matched;
      if (!hit_start_ || start < *hit_start_) {
        hit_start_ = start;
        hit_stop_idx_ = idx;
      }
      matched = pattern.border[matched - 1];
    }
    pattern.num_matched = matched;
  }
}

// Where the longest unfinished match begins; the current position if there is none.
std::size_t StopMatcher::earliest_pending() const {
  std::size_t longest = 0;
  for (const Pattern& pattern : patterns_)
    longest = std::max(longest, pattern.num_matched);
  return position_ - longest;
}

std::string StopMatcher::release(std::size_t end) {
  const std::size_t num_bytes = end - held_start_;
  std::string text = held_.substr(0, num_bytes);
  held_.erase(0, num_bytes);
  held_start_ = end;
  return text;
}

std::string StopMatcher::feed(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  for (const char byte : piece) {
    step(byte);
    // A match that began before the hit may still complete, and would then be the first one.
    stopped_ = hit_start_.has_value() && earliest_pending() >= *hit_start_;
    if (stopped_) return release(*hit_start_);
  }
  const std::size_t pending = earliest_pending();
  return release(hit_start_ ? std::min(pending, *hit_start_) : pending);
}

std::string StopMatcher::finish() {
  if (stopped_) return {};
  stopped_ = hit_start_.has_value();
  return release(hit_start_.value_or(position_));
}

}  // namespace vitrine::chat
