#include "base/utf8.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace vitrine::base {
namespace {

struct LeadByte {
  std::size_t length;  // 0: not a lead byte
  unsigned char low;   // allowed range of the second byte
  unsigned char high;
  char32_t bits;
};

LeadByte classify(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF, lead & 0x1Fu};
  if (lead == 0xE0) return {3, 0xA0, 0xBF, 0};
  if (lead == 0xED) return {3, 0x80, 0x9F, 0xD};
  if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF, lead & 0x0Fu};
  if (lead == 0xF0) return {4, 0x90, 0xBF, 0};
  if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF, lead & 0x07u};
  if (lead == 0xF4) return {4, 0x80, 0x8F, 4};
  return {0, 0, 0, 0};
}

// A character of three bytes that needs no look at their values, as nearly all of those of Chinese, in the lower bytes.
bool is_common_three_bytes(std::uint64_t bytes) {
  if constexpr (std::endian::native != std::endian::little) return false;
  const std::uint64_t lead = bytes & 0xFF;
  return (bytes & 0xC0C0F0) == 0x8080E0 && lead != 0xE0 && lead != 0xED;
}

}  // namespace

CodePoint decode_utf8(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1, true, false};
  const LeadByte lead = classify(byte(0));
  if (lead.length == 0) return {};
  char32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {kReplacement, i, false, true};
    const bool in_range = i == 1 ? byte(1) >= lead.low && byte(1) <= lead.high : is_continuation(text[i]);
    if (!in_range) return {kReplacement, i, false, false};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  return {value, lead.length, true, false};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&out](char32_t bits) { out.push_back(static_cast<char>(static_cast<unsigned char>(bits))); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

bool is_valid_utf8(std::string_view text) {
  std::size_t pos = 0;
  while (pos < text.size()) {
    std::uint64_t word = 0;
    if (text.size() - pos >= sizeof(word)) {  // eight ASCII bytes at once
      std::memcpy(&word, text.data() + pos, sizeof(word));
      if ((word & 0x8080808080808080u) == 0) {
        pos += sizeof(word);
        continue;
      }
      if (is_common_three_bytes(word)) {
        pos += is_common_three_bytes(word >> 24) ? 6 : 3;
        continue;
      }
    }
    const CodePoint code_point = decode_utf8(text.substr(pos));
    if (!code_point.valid) return false;
    pos += code_point.length;
  }
  return true;
}

}  // namespace vitrine::base
