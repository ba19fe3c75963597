#include "tokenizer/byte_alphabet.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace vitrine::tokenizer {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, 256> spelling;
  std::array<std::int16_t, 0x144> byte_of;  // by code point, -1 where there is none
};

// Bytes that are not printable take U+0100 onwards, in order.
Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.byte_of.fill(-1);
  char32_t next_free = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t code_point = stands_for_itself(byte) ? byte : next_free++;
    base::append_utf8(alphabet.spelling[byte], code_point);
    alphabet.byte_of[code_point] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

const Alphabet& alphabet() {
  static const Alphabet instance = make_alphabet();
  return instance;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  if (!append_bytes_of_spelling(spelling, bytes)) return std::nullopt;
  return bytes;
}

bool append_bytes_of_spelling(std::string_view spelling, std::string& bytes) {
  static const auto& byte_of = alphabet().byte_of;
  const std::size_t num_before = bytes.size();
  bytes.resize(num_before + spelling.size());
  char* out = bytes.data() + num_before;
  const char* const end = spelling.data() + spelling.size();
  for (const char* from = spelling.data(); from != end; ++out) {
    char32_t character = static_cast<unsigned char>(*from++);
    if (character >= 0x80) {  // no character of the alphabet takes more than two bytes
      // Lead bytes below 0xC2 would spell ASCII in two bytes, which is no UTF-8.
      const bool has_two = character >= 0xC2 && character < 0xE0 && from != end && base::is_continuation(*from);
      character =
          has_two ? (character & 0x1F) << 6 | (static_cast<unsigned char>(*from++) & 0x3FU) : base::kReplacement;
    }
    if (character >= byte_of.size() || byte_of[character] < 0) {
      bytes.resize(num_before);
      return false;
    }
    *out = static_cast<char>(byte_of[character]);
  }
  bytes.resize(static_cast<std::size_t>(out - bytes.data()));
  return true;
}

std::string spelling_of_bytes(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() * 2);
  for (const char byte : bytes)
    spelling += spelling_of_byte(static_cast<unsigned char>(byte));
  return spelling;
}

std::string_view spelling_of_byte(unsigned char byte) {
  return alphabet().spelling[byte];
}

std::optional<unsigned char> byte_of_token(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  const int high = hex_value(piece[3]);
  const int low = hex_value(piece[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<unsigned char>(high * 16 + low);
}

std::string token_of_byte(unsigned char byte) {
  return fmt::format("<0x{:02X}>", byte);
}

}  // namespace vitrine::tokenizer
