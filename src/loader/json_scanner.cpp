#include "loader/json_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "loader/errors.h"

namespace vitrine::loader {
namespace {

void append_utf8(std::uint32_t code_point, std::string& out) {
  const auto push = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) return push(code_point);
  if (code_point < 0x800) {
    push(0xC0 | (code_point >> 6U));
  } else {
    if (code_point < 0x10000) {
      push(0xE0 | (code_point >> 12U));
    } else {
      push(0xF0 | (code_point >> 18U));
      push(0x80 | ((code_point >> 12U) & 0x3FU));
    }
    push(0x80 | ((code_point >> 6U) & 0x3FU));
  }
  push(0x80 | (code_point & 0x3FU));
}

}  // namespace

void JsonScanner::fail_expected(std::string_view what) const {
  fail(fmt::format("header is not as it should be: expected {} at byte {}", what, position_));
}

void JsonScanner::skip_space() {
  position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
}

bool JsonScanner::accept(char punctuation) {
  skip_space();
  if (position_ == text_.size() || text_[position_] != punctuation) return false;
  ++position_;
  return true;
}

void JsonScanner::expect(char punctuation) {
  if (!accept(punctuation)) fail_expected(std::string("'") + punctuation + "'");
}

bool JsonScanner::at_end() {
  skip_space();
  return position_ == text_.size();
}

std::string JsonScanner::read_string() {
  if (!accept('"')) fail_expected("a string");
  std::string result;
  while (true) {
    std::size_t end = position_;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\\' &&
           static_cast<unsigned char>(text_[end]) >= 0x20) {
      ++end;
    }
    result.append(text_, position_, end - position_);
    position_ = end;
    if (end == text_.size() || static_cast<unsigned char>(text_[end]) < 0x20) fail_expected("the end of a string");
    ++position_;
    if (text_[end] == '"') return result;
    read_escape(result);
  }
}

void JsonScanner::read_escape(std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (position_ == text_.size()) fail_expected("an escape");
  const char letter = text_[position_];
  if (const std::size_t letter_idx = kLetters.find(letter); letter_idx != kLetters.npos) {
    ++position_;
    out.push_back(kMeanings[letter_idx]);
    return;
  }
  if (letter != 'u') fail_expected("an escape");
  ++position_;
  append_utf8(read_code_point(), out);
}

std::uint32_t JsonScanner::read_hex4() {
  const std::string_view digits = text_.substr(position_, 4);
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (code != std::errc() || end != digits.data() + 4) fail_expected("four hexadecimal digits");
  position_ += 4;
  return value;
}

std::uint32_t JsonScanner::read_code_point() {
  const std::uint32_t unit = read_hex4();
  if (unit < 0xD800 || unit > 0xDFFF) return unit;
  const bool is_high = unit < 0xDC00;
  if (!is_high || text_.substr(position_, 2) != "\\u") fail_expected("the other half of a surrogate pair");
  position_ += 2;
  const std::uint32_t low = read_hex4();
  if (low < 0xDC00 || low > 0xDFFF) fail_expected("the other half of a surrogate pair");
  return 0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00);
}

std::uint64_t JsonScanner::read_unsigned() {
  skip_space();
  const std::string_view rest = text_.substr(position_);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (code != std::errc()) fail_expected("an integer below 2^64");
  const auto num_digits = static_cast<std::size_t>(end - rest.data());
  if (num_digits > 1 && rest.front() == '0') fail_expected("an integer without leading zeros");
  if (num_digits < rest.size() && (rest[num_digits] == '.' || rest[num_digits] == 'e' || rest[num_digits] == 'E')) {
    fail_expected("an integer");
  }
  position_ += num_digits;
  return value;
}

}  // namespace vitrine::loader
