#include <charconv>
#include <ctime>

#include "chat/chat_template.h"

namespace vitrine::chat {
namespace {

// The number of exactly `width` digits at `start`, within [low, high].
std::optional<int> digits(std::string_view text, std::size_t start, std::size_t width, int low, int high) {
  if (start + width > text.size()) return std::nullopt;
  const char* first = text.data() + start;
  int number = 0;
  const auto [end, code] = std::from_chars(first, first + width, number);
  if (code != std::errc{} || end != first + width || number < low || number > high) return std::nullopt;
  return number;
}

bool has_separators(std::string_view text) {
  if (text.size() != 10 && text.size() != 19) return false;
  if (text[4] != '-' || text[7] != '-') return false;
  return text.size() == 10 || ((text[10] == 'T' || text[10] == ' ') && text[13] == ':' && text[16] == ':');
}

}  // namespace

LocalTime LocalTime::now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm fields{};
  localtime_r(&seconds, &fields);
  return {fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec};
}

base::Result<LocalTime> LocalTime::parse(std::string_view text) {
  const base::Error refused = base::usage_error("now: must be a local time such as 2025-03-14T15:09:26, or a date");
  if (!has_separators(text)) return refused;
  const bool has_clock = text.size() == 19;
  const auto year = digits(text, 0, 4, 1, 9999);
  const auto month = digits(text, 5, 2, 1, 12);
  const auto day = digits(text, 8, 2, 1, 31);
  const auto hour = has_clock ? digits(text, 11, 2, 0, 23) : 0;
  const auto minute = has_clock ? digits(text, 14, 2, 0, 59) : 0;
  const auto second = has_clock ? digits(text, 17, 2, 0, 60) : 0;
  if (!year || !month || !day || !hour || !minute || !second) return refused;
  return LocalTime{*year, *month, *day, *hour, *minute, *second};
}

}  // namespace vitrine::chat
