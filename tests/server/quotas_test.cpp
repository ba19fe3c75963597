#include "server/quotas.h"

#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utc_date.h"
#include "server/quota_refusal.h"

namespace vitrine::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

std::string header(const HttpHeaders& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? "" : found->second;
}

// Quotas on a clock that stands still until it is moved, over a ledger that is a map of days to tokens.
class QuotasTest : public ::testing::Test {
 protected:
  store::KeyGrant grant(store::KeyLimits limits) const {
    return {.key_id = "aaaaaaaa", .role = store::KeyRole::kUser, .secret_number = 1, .limits = std::move(limits)};
  }
  void pass(milliseconds time) {
    steady_ += time;
    unix_ms_ += time.count();
  }
  // The error of letting a request of so many tokens in; status 200 where it was let in and has ended.
  ApiError run(const store::KeyLimits& limits, std::int64_t reserved, std::int64_t used) {
    try {
      const auto ticket = quotas_.admit(grant(limits));
      ticket->reserve(reserved);
      ledger_[base::utc_day(unix_ms_ / 1000)] += used;
      ticket->settle(used);
    } catch (const ApiException& exception) {
      return exception.error();
    }
    return {.status = 200};
  }
  std::int64_t sum(std::int64_t first_day, std::int64_t last_day) const {
    std::int64_t all = 0;
    for (const auto& [day, tokens] : ledger_)
      all += day >= first_day && day <= last_day ? tokens : 0;
    return all;
  }

  MinuteWindow::Clock::time_point steady_{};
  std::int64_t unix_ms_ = (*base::parse_day("2025-03-30") * base::kSecondsPerDay + 3600) * 1000;
  std::map<std::int64_t, std::int64_t> ledger_;
  Quotas quotas_{{.now =
                      [this] {
                        return Quotas::Moment{steady_, unix_ms_ / 1000};
                      },
                  .ledger_tokens = [this](const std::string&, std::int64_t first,
                                          std::int64_t last) { return sum(first, last); }}};
};

TEST_F(QuotasTest, NoMoreRequestsThanTheLimitInAnySixtySeconds) {
  const store::KeyLimits limits{.requests_per_minute = 3};
  std::vector<MinuteWindow::Clock::time_point> let_in;
  for (int i = 0; i < 1000; ++i) {
    if (run(limits, 1, 1).status == 200) let_in.push_back(steady_);
    pass(milliseconds(700));
  }
  EXPECT_GT(let_in.size(), 30U);
  for (std::size_t i = 3; i < let_in.size(); ++i)
    EXPECT_GE(let_in[i] - let_in[i - 3], seconds(60));
}

TEST_F(QuotasTest, RetryAfterIsHonest) {
  const store::KeyLimits limits{.requests_per_minute = 2};
  EXPECT_EQ(run(limits, 1, 1).status, 200U);
  pass(milliseconds(20'500));
  EXPECT_EQ(run(limits, 1, 1).status, 200U);
  pass(milliseconds(1'000));
  const ApiError error = run(limits, 1, 1);
  EXPECT_EQ(error.status, 429U);
  EXPECT_EQ(error.code, "rate_limit_exceeded");
  EXPECT_THAT(error.message, HasSubstr("requests_per_minute: 2 of the 2 requests"));
  EXPECT_THAT(error.message, HasSubstr("in 39s"));
  EXPECT_EQ(header(error.headers, "retry-after"), "39") << "38.5 rounded up";
  pass(milliseconds(38'499));
  EXPECT_EQ(run(limits, 1, 1).status, 429U) << "not a moment too early";
  pass(milliseconds(1));
  EXPECT_EQ(run(limits, 1, 1).status, 200U);
}

TEST_F(QuotasTest, ARefusalDoesNotCount) {
  const store::KeyLimits limits{.requests_per_minute = 1};
  EXPECT_EQ(run(limits, 1, 1).status, 200U);
  for (int i = 0; i < 59; ++i) {
    pass(seconds(1));
    EXPECT_EQ(run(limits, 1, 1).status, 429U);
  }
  pass(seconds(1));
  EXPECT_EQ(run(limits, 1, 1).status, 200U);
}

TEST_F(QuotasTest, WhatItsTokensRefuseIsNoRequestOfTheMinute) {
  const store::KeyLimits limits{.requests_per_minute = 2, .tokens_per_minute = 10};
  EXPECT_EQ(run(limits, 10, 10).status, 200U);
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(run(limits, 1, 1).message, HasSubstr("tokens_per_minute"));
  EXPECT_EQ(header(quotas_.headers(grant(limits)), "x-ratelimit-remaining-requests"), "1");
  pass(seconds(60));
  EXPECT_EQ(run(limits, 1, 1).status, 200U);
}

TEST_F(QuotasTest, WhereAnotherMustEndTheWaitIsShort) {
  const store::KeyLimits limits{.tokens_per_minute = 100};
  EXPECT_EQ(run(limits, 30, 30).status, 200U);
  const auto running = quotas_.admit(grant(limits));
  running->reserve(60);
  const ApiError error = run(limits, 50, 1);
  EXPECT_THAT(error.message, HasSubstr("when some of those have ended"));
  EXPECT_EQ(header(error.headers, "retry-after"), "1");
}

TEST_F(QuotasTest, WhatRunsHoldsItsReservationAndGivesBackWhatItDidNotUse) {
  const store::KeyGrant key = grant({.tokens_per_minute = 100});
  auto one = quotas_.admit(key);
  auto two = quotas_.admit(key);
  one->reserve(60);
  EXPECT_EQ(header(quotas_.headers(key), "x-ratelimit-remaining-tokens"), "40");
  try {
    two->reserve(41);
    FAIL() << "over the limit";
  } catch (const ApiException& exception) {
    EXPECT_EQ(exception.error().status, 429U);
    EXPECT_THAT(exception.error().message, HasSubstr("of the 100 tokens"));
    EXPECT_THAT(exception.error().message, HasSubstr("60 set aside"));
    EXPECT_EQ(header(exception.error().headers, "retry-after"), "1");
  }
  two->reserve(40);
  pass(seconds(90));
  EXPECT_EQ(header(quotas_.headers(key), "x-ratelimit-remaining-tokens"), "0")
      << "a long answer's share stays set aside";
  one->settle(15);
  EXPECT_EQ(header(quotas_.headers(key), "x-ratelimit-remaining-tokens"), "45");
  two.reset();
  EXPECT_EQ(header(quotas_.headers(key), "x-ratelimit-remaining-tokens"), "85") << "nothing was used";
  pass(seconds(60));
  EXPECT_EQ(header(quotas_.headers(key), "x-ratelimit-remaining-tokens"), "100");
}

TEST_F(QuotasTest, ADayIsThatOfTheLedgerAndEndsAtMidnight) {
  const store::KeyLimits limits{.tokens_per_day = 100};
  ledger_[base::utc_day(unix_ms_ / 1000)] = 50;  // by whoever wrote it
  ledger_[base::utc_day(unix_ms_ / 1000) - 1] = 1000;
  EXPECT_EQ(run(limits, 50, 30).status, 200U);
  const ApiError error = run(limits, 21, 1);
  EXPECT_EQ(error.status, 429U);
  EXPECT_EQ(error.code, "insufficient_quota");
  EXPECT_THAT(error.message, HasSubstr("tokens_per_day: of the 100 tokens that this key has, 80 are used"));
  EXPECT_THAT(error.message, HasSubstr("in 23h0m0s, at 00:00 UTC"));
  EXPECT_EQ(header(error.headers, "retry-after"), "82800");
  EXPECT_EQ(header(error.headers, "x-should-retry"), "false");
  EXPECT_EQ(run(limits, 20, 20).status, 200U);
  pass(seconds(82'800));
  EXPECT_EQ(run(limits, 100, 1).status, 200U);
}

TEST_F(QuotasTest, AMonthIsThatOfTheCalendar) {
  const store::KeyLimits limits{.tokens_per_month = 1000};
  EXPECT_EQ(run(limits, 1000, 1000).status, 200U);
  const ApiError error = run(limits, 1, 1);
  EXPECT_EQ(error.code, "insufficient_quota");
  EXPECT_EQ(header(error.headers, "retry-after"), std::to_string(2 * 86'400 - 3600)) << "until April";
  pass(seconds(2 * 86'400 - 3600));
  EXPECT_EQ(run(limits, 1000, 1).status, 200U);
}

TEST_F(QuotasTest, WhatCanNeverFitIsSaidSo) {
  for (const auto& [limits, code] : {std::pair(store::KeyLimits{.tokens_per_minute = 10}, "rate_limit_exceeded"),
                                     std::pair(store::KeyLimits{.tokens_per_day = 10}, "insufficient_quota")}) {
    const ApiError error = run(limits, 11, 1);
    EXPECT_EQ(error.status, 429U);
    EXPECT_EQ(error.code, code);
    EXPECT_THAT(error.message, HasSubstr("may take 11 tokens"));
    EXPECT_EQ(header(error.headers, "retry-after"), "");
    EXPECT_EQ(header(error.headers, "x-should-retry"), "false");
  }
}

TEST_F(QuotasTest, AtOnceIsWhatHasNotEnded) {
  const store::KeyGrant key = grant({.max_concurrent = 2});
  auto one = quotas_.admit(key);
  const auto two = quotas_.admit(key);
  EXPECT_EQ(quotas_.use("aaaaaaaa").running, 2);
  try {
    quotas_.admit(key);
    FAIL() << "three at once";
  } catch (const ApiException& exception) {
    EXPECT_THAT(exception.error().message, HasSubstr("max_concurrent: 2 of the 2 requests"));
    EXPECT_EQ(exception.error().code, "rate_limit_exceeded");
  }
  one.reset();
  EXPECT_NE(quotas_.admit(key), nullptr);
}

TEST_F(QuotasTest, HeadersAreThoseOfTheOpenAiApi) {
  const store::KeyLimits limits{.requests_per_minute = 60, .tokens_per_minute = 1000};
  EXPECT_EQ(run(limits, 100, 40).status, 200U);
  pass(seconds(10));
  EXPECT_EQ(run(limits, 100, 60).status, 200U);
  pass(milliseconds(500));
  const HttpHeaders headers = quotas_.headers(grant(limits));
  EXPECT_EQ(header(headers, "x-ratelimit-limit-requests"), "60");
  EXPECT_EQ(header(headers, "x-ratelimit-remaining-requests"), "58");
  EXPECT_EQ(header(headers, "x-ratelimit-reset-requests"), "1m0s");
  EXPECT_EQ(header(headers, "x-ratelimit-limit-tokens"), "1000");
  EXPECT_EQ(header(headers, "x-ratelimit-remaining-tokens"), "900");
  EXPECT_EQ(header(headers, "x-ratelimit-reset-tokens"), "1m0s");
  EXPECT_TRUE(quotas_.headers(grant({.tokens_per_day = 5})).empty());
}

TEST_F(QuotasTest, KeysDoNotShareTheirs) {
  store::KeyGrant other = grant({.requests_per_minute = 1});
  other.key_id = "bbbbbbbb";
  EXPECT_EQ(run(other.limits, 1, 1).status, 200U);
  EXPECT_NE(quotas_.admit(other), nullptr);
}

TEST(Durations, AreWrittenAsTheOpenAiApiDoes) {
  EXPECT_EQ(format_duration(milliseconds(0)), "0s");
  EXPECT_EQ(format_duration(std::chrono::microseconds(20'001)), "21ms");
  EXPECT_EQ(format_duration(seconds(1)), "1s");
  EXPECT_EQ(format_duration(milliseconds(1'200)), "2s");
  EXPECT_EQ(format_duration(milliseconds(59'200)), "1m0s");
  EXPECT_EQ(format_duration(seconds(360)), "6m0s");
  EXPECT_EQ(format_duration(seconds(3600)), "1h0m0s");
}

}  // namespace
}  // namespace vitrine::server
