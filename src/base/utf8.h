#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// UTF-8 as the Unicode Standard defines it (no overlong forms, no surrogates, at most U+10FFFF).
namespace vitrine::base {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

struct CodePoint {
  char32_t value = kReplacement;
  std::size_t length = 1;  // bytes it takes; for bad bytes the length of the maximal subpart (Unicode, section 3.9)
  bool valid = false;
  bool truncated = false;  // bad only because the text ends here
};

// Decodes the code point at the start of `text`, which must not be empty.
CodePoint decode_utf8(std::string_view text);

// The same for text known to be valid: no checks.
inline char32_t decode_valid_utf8(const char* text, std::size_t& length) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return length = 1, lead;
  if (lead < 0xE0) return length = 2, ((lead & 0x1F) << 6) | (byte(1) & 0x3F);
  if (lead < 0xF0) return length = 3, ((lead & 0x0F) << 12) | ((byte(1) & 0x3Fu) << 6) | (byte(2) & 0x3F);
  length = 4;
  return ((lead & 0x07) << 18) | ((byte(1) & 0x3Fu) << 12) | ((byte(2) & 0x3Fu) << 6) | (byte(3) & 0x3F);
}

// The length in bytes of a character of valid UTF-8, from its first byte.
inline std::size_t utf8_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

inline bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

void append_utf8(std::string& out, char32_t code_point);
bool is_valid_utf8(std::string_view text);

}  // namespace vitrine::base
