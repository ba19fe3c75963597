#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace vitrine::server {

// A limit that a request would go over.
struct LimitState {
  std::string_view limit;  // its name: "tokens_per_day"
  std::int64_t most;
  std::int64_t used;      // what has ended
  std::int64_t reserved;  // by requests under way
};

// The 429s, each with the limit, its value, what is used of it and when it is free again. Retry-After is in whole
// seconds, rounded up. Clients are told not to try again by themselves (x-should-retry) where that can't help, or not
// within a minute.

// No more requests in this minute, or at once.
ApiException too_many_requests(const LimitState& state, std::chrono::nanoseconds wait);
ApiException too_many_at_once(const LimitState& state);
// The request needs `num_tokens`. `wait`: until what has ended is forgotten.
ApiException too_many_tokens(const LimitState& state, std::int64_t num_tokens, std::chrono::nanoseconds wait);
// The same for a day or a month, which ends in `wait`.
ApiException out_of_quota(const LimitState& state, std::int64_t num_tokens, std::chrono::seconds wait);

// As the headers of the OpenAI API write it: "6m0s", "1s", "350ms".
std::string format_duration(std::chrono::nanoseconds time);

}  // namespace vitrine::server
