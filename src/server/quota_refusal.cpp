#include "server/quota_refusal.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace vitrine::server {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kLongWait{60};  // clients don't wait longer by themselves; to ask again sooner is no use

ApiException refusal(std::string message, std::string code, nanoseconds wait) {
  const auto whole = std::max(seconds(1), std::chrono::ceil<seconds>(wait));
  ApiError error{.status = 429, .message = std::move(message), .code = std::move(code)};
  error.headers.emplace_back("retry-after", fmt::format("{}", whole.count()));
  if (whole > kLongWait) error.headers.emplace_back("x-should-retry", "false");
  return ApiException(std::move(error));
}

// No wait makes room for this.
ApiException too_large(const LimitState& state, std::int64_t num_tokens, std::string code) {
  return ApiException({.status = 429,
                       .message = fmt::format("{0}: this request may take {1} tokens, its prompt and max_tokens "
                                              "together, and the key's limit is {2}; ask for fewer",
                                              state.limit, num_tokens, state.most),
                       .code = std::move(code),
                       .headers = {{"x-should-retry", "false"}}});
}

std::string describe(const LimitState& state, std::int64_t num_tokens) {
  return fmt::format(
      "{}: of the {} tokens that this key has, {} are used and {} set aside for requests under way; this one may take "
      "{}, its prompt and max_tokens together",
      state.limit, state.most, state.used, state.reserved, num_tokens);
}

}  // namespace

ApiException too_many_requests(const LimitState& state, nanoseconds wait) {
  return refusal(fmt::format("{}: {} of the {} requests that this key may make in a minute were made; the next is "
                             "possible in {}",
                             state.limit, state.used, state.most, format_duration(wait)),
                 "rate_limit_exceeded", wait);
}

ApiException too_many_at_once(const LimitState& state) {
  return refusal(fmt::format("{}: {} of the {} requests that this key may have at once are under way; the next is "
                             "possible when one of them ends",
                             state.limit, state.reserved, state.most),
                 "rate_limit_exceeded", seconds(1));
}

ApiException too_many_tokens(const LimitState& state, std::int64_t num_tokens, nanoseconds wait) {
  if (num_tokens > state.most) return too_large(state, num_tokens, "rate_limit_exceeded");
  const bool needs_others_end = num_tokens + state.reserved > state.most;
  return refusal(fmt::format("{}; there is room {}", describe(state, num_tokens),
                             needs_others_end ? "when some of those have ended" : "in " + format_duration(wait)),
                 "rate_limit_exceeded", needs_others_end ? seconds(1) : wait);
}

ApiException out_of_quota(const LimitState& state, std::int64_t num_tokens, seconds wait) {
  if (num_tokens > state.most) return too_large(state, num_tokens, "insufficient_quota");
  const bool may_have_room = num_tokens + state.used <= state.most;  // when others used less than they set aside
  return refusal(
      fmt::format("{}; it begins anew in {}, at 00:00 UTC", describe(state, num_tokens), format_duration(wait)),
      "insufficient_quota", may_have_room ? seconds(1) : wait);
}

std::string format_duration(nanoseconds time) {
  using std::chrono::milliseconds;
  if (time <= nanoseconds(0)) return "0s";
  if (time < seconds(1)) return fmt::format("{}ms", std::chrono::ceil<milliseconds>(time).count());
  const std::int64_t all = std::chrono::ceil<seconds>(time).count();
  std::string text;
  if (all >= 3600) text += fmt::format("{}h", all / 3600);
  if (all >= 60) text += fmt::format("{}m", all / 60 % 60);
  return text + fmt::format("{}s", all % 60);
}

}  // namespace vitrine::server
