#include "base/utc_date.h"

#include <gtest/gtest.h>

namespace vitrine::base {
namespace {

TEST(UtcDate, DaysBeginAtMidnightOfUtc) {
  EXPECT_EQ(utc_day(0), 0);
  EXPECT_EQ(utc_day(86'399), 0);
  EXPECT_EQ(utc_day(86'400), 1);
  EXPECT_EQ(utc_day(-1), -1);
  EXPECT_EQ(format_day(utc_day(1'741'964'400)), "2025-03-14");
}

TEST(UtcDate, MonthsAreThoseOfTheCalendar) {
  const auto first = [](const char* day) { return format_day(first_day_of_month(*parse_day(day))); };
  const auto next = [](const char* day) { return format_day(first_day_of_next_month(*parse_day(day))); };
  EXPECT_EQ(first("2025-03-01"), "2025-03-01");
  EXPECT_EQ(first("2025-03-31"), "2025-03-01");
  EXPECT_EQ(next("2025-01-31"), "2025-02-01");
  EXPECT_EQ(next("2025-12-31"), "2026-01-01");
}

TEST(UtcDate, ATimeIsThatOfRfc3339) {
  const std::chrono::system_clock::time_point epoch;
  EXPECT_EQ(format_time(epoch + std::chrono::milliseconds(1'741'964'966'535)), "2025-03-14T15:09:26.535Z");
  EXPECT_EQ(format_time(epoch + std::chrono::microseconds(999)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(epoch - std::chrono::milliseconds(1)), "1969-12-31T23:59:59.999Z");
}

TEST(UtcDate, OnlyDaysOfTheCalendarAreRead) {
  for (const char* day : {"1970-01-01", "2024-02-29", "2025-12-31"})
    EXPECT_EQ(format_day(*parse_day(day)), day);
  for (const char* text : {"", "2025-02-29", "2025-13-01", "2025-00-01", "2025-1-01", "2025-01-1", "2025/01/01",
                           "2025-01-01 ", "+025-01-01", "2025--1-01", "today"})
    EXPECT_EQ(parse_day(text), std::nullopt) << text;
}

}  // namespace
}  // namespace vitrine::base
