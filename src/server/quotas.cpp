#include "server/quotas.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "base/utc_date.h"
#include "server/quota_refusal.h"

namespace vitrine::server {
namespace {

using store::KeyLimits;

// Three headers of one limit, whose window is as it was at first after `reset`.
void add_headers(HttpHeaders& headers, std::string_view what, const LimitState& state, std::chrono::nanoseconds reset) {
  const std::int64_t left = std::max<std::int64_t>(0, state.most - state.used - state.reserved);
  headers.emplace_back(fmt::format("x-ratelimit-limit-{}", what), fmt::format("{}", state.most));
  headers.emplace_back(fmt::format("x-ratelimit-remaining-{}", what), fmt::format("{}", left));
  headers.emplace_back(fmt::format("x-ratelimit-reset-{}", what), format_duration(reset));
}

}  // namespace

std::unique_ptr<Quotas::Ticket> Quotas::admit(const store::KeyGrant& grant) {
  const Moment now = sources_.now();
  KeyState& state = states_[grant.key_id];
  const KeyLimits& limits = grant.limits;
  if (limits.requests_per_minute && state.requests.sum(now.steady) >= *limits.requests_per_minute) {
    throw too_many_requests({"requests_per_minute", *limits.requests_per_minute, state.requests.sum(now.steady), 0},
                            state.requests.time_until(now.steady, *limits.requests_per_minute - 1));
  }
  if (limits.max_concurrent && state.num_running >= *limits.max_concurrent)
    throw too_many_at_once({"max_concurrent", *limits.max_concurrent, 0, state.num_running});
  state.requests.add(now.steady, 1);
  return std::make_unique<Ticket>(*this, grant, state, now.steady);
}

HttpHeaders Quotas::headers(const store::KeyGrant& grant) {
  const auto now = sources_.now().steady;
  KeyState& state = states_[grant.key_id];
  HttpHeaders headers;
  if (const auto most = grant.limits.requests_per_minute) {
    add_headers(headers, "requests", {"", *most, state.requests.sum(now), 0}, state.requests.time_until(now, 0));
  }
  if (const auto most = grant.limits.tokens_per_minute) {
    add_headers(headers, "tokens", {"", *most, state.tokens.sum(now), state.reserved_tokens},
                state.tokens.time_until(now, 0));
  }
  return headers;
}

KeyUse Quotas::use(const std::string& key_id) {
  const Moment now = sources_.now();
  const std::int64_t today = base::utc_day(now.unix_s);
  KeyUse use{.tokens_today = ledger_tokens(key_id, today, today),
             .tokens_this_month = ledger_tokens(key_id, base::first_day_of_month(today), today)};
  if (const auto found = states_.find(key_id); found != states_.end()) {
    use.running = found->second.num_running;
    use.requests_last_minute = found->second.requests.sum(now.steady);
    use.tokens_last_minute = found->second.tokens.sum(now.steady);
  }
  return use;
}

std::int64_t Quotas::ledger_tokens(const std::string& key_id, std::int64_t first_day, std::int64_t last_day) const {
  try {
    return sources_.ledger_tokens(key_id, first_day, last_day);
  } catch (const base::Exception& exception) {
    fmt::print(stderr, "vitrine: {}\n", exception.what());
    throw storage_unavailable("the usage ledger can't be read; the server's log says why");
  }
}

void Quotas::check_minute(KeyState& state, const KeyLimits& limits, const Moment& now, std::int64_t num_tokens) {
  if (!limits.tokens_per_minute) return;
  const LimitState limit{"tokens_per_minute", *limits.tokens_per_minute, state.tokens.sum(now.steady),
                         state.reserved_tokens};
  const std::int64_t room = limit.most - limit.reserved - num_tokens;
  if (limit.used <= room) return;
  throw too_many_tokens(limit, num_tokens, state.tokens.time_until(now.steady, std::max<std::int64_t>(0, room)));
}

void Quotas::check_calendar(const KeyState& state, const store::KeyGrant& grant, const Moment& now,
                            std::int64_t num_tokens) {
  const std::int64_t today = base::utc_day(now.unix_s);
  const auto check = [&](std::string_view name, KeyLimits::Number most, std::int64_t first, std::int64_t next) {
    if (!most) return;
    const LimitState limit{name, *most, ledger_tokens(grant.key_id, first, today), state.reserved_tokens};
    if (limit.used + limit.reserved + num_tokens <= limit.most) return;
    throw out_of_quota(limit, num_tokens, std::chrono::seconds(next * base::kSecondsPerDay - now.unix_s));
  };
  check("tokens_per_day", grant.limits.tokens_per_day, today, today + 1);
  check("tokens_per_month", grant.limits.tokens_per_month, base::first_day_of_month(today),
        base::first_day_of_next_month(today));
}

Quotas::Ticket::Ticket(Quotas& quotas, const store::KeyGrant& grant, KeyState& state,
                       MinuteWindow::Clock::time_point came)
    : quotas_(quotas), grant_(grant), state_(state), came_(came) {
  ++state_.num_running;
}

Quotas::Ticket::~Ticket() {
  state_.reserved_tokens -= reserved_tokens_;
  --state_.num_running;
}

std::optional<std::int64_t> Quotas::Ticket::most_tokens() const {
  std::optional<std::int64_t> most;
  for (const auto& limit :
       {grant_.limits.tokens_per_minute, grant_.limits.tokens_per_day, grant_.limits.tokens_per_month}) {
    if (limit) most = std::min(*limit, most.value_or(*limit));
  }
  return most;
}

void Quotas::Ticket::reserve(std::int64_t num_tokens) {
  const Moment now = quotas_.sources_.now();
  try {
    quotas_.check_minute(state_, grant_.limits, now, num_tokens);
    quotas_.check_calendar(state_, grant_, now, num_tokens);
  } catch (const ApiException&) {
    state_.requests.take_back(came_, 1);
    throw;
  }
  reserved_tokens_ = num_tokens;
  state_.reserved_tokens += num_tokens;
}

void Quotas::Ticket::settle(std::int64_t num_tokens) {
  state_.reserved_tokens -= std::exchange(reserved_tokens_, 0);
  state_.tokens.add(quotas_.sources_.now().steady, num_tokens);
}

}  // namespace vitrine::server
