#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine::base {

// Days of the calendar as UTC has them, counted from 1970-01-01, which is 0. Times are seconds since that day's
// midnight.
inline constexpr std::int64_t kSecondsPerDay = 86'400;

std::int64_t utc_day(std::int64_t unix_s);
std::int64_t first_day_of_month(std::int64_t day);
std::int64_t first_day_of_next_month(std::int64_t day);

// "2025-03-14".
std::string format_day(std::int64_t day);
// "2025-03-14T15:09:26.535Z" (RFC 3339).
std::string format_time(std::chrono::system_clock::time_point time);
// nullopt for what is no such text, and for days that no calendar has.
std::optional<std::int64_t> parse_day(std::string_view text);

}  // namespace vitrine::base
