#include "base/utc_date.h"

#include <charconv>

#include <fmt/format.h>

namespace vitrine::base {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

year_month_day date_of(std::int64_t day) {
  return year_month_day(sys_days(days(day)));
}

std::int64_t day_of(const year_month_day& date) {
  return sys_days(date).time_since_epoch().count();
}

std::optional<unsigned> digits(std::string_view text) {
  unsigned value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::int64_t utc_day(std::int64_t unix_s) {
  return std::chrono::floor<days>(std::chrono::seconds(unix_s)).count();
}

std::int64_t first_day_of_month(std::int64_t day) {
  const year_month_day date = date_of(day);
  return day_of(date.year() / date.month() / 1);
}

std::int64_t first_day_of_next_month(std::int64_t day) {
  const year_month_day date = date_of(day);
  return day_of(year_month_day(date.year() / date.month() / 1) + std::chrono::months(1));
}

std::string format_day(std::int64_t day) {
  const year_month_day date = date_of(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::string format_time(std::chrono::system_clock::time_point time) {
  const auto since_1970 = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch();
  const auto day = std::chrono::floor<days>(since_1970);
  const std::chrono::hh_mm_ss clock(since_1970 - day);
  return fmt::format("{}T{:02}:{:02}:{:02}.{:03}Z", format_day(day.count()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<std::int64_t> parse_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = digits(text.substr(0, 4));
  const auto month = digits(text.substr(5, 2));
  const auto day = digits(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const auto date = std::chrono::year(static_cast<int>(*year)) / std::chrono::month(*month) / std::chrono::day(*day);
  if (!date.ok()) return std::nullopt;
  return day_of(date);
}

}  // namespace vitrine::base
