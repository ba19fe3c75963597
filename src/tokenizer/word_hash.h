#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

// Words of a few bytes as numbers, for tables of words.
namespace vitrine::tokenizer {

// What a key is multiplied by, so that the high bits of the product tell keys apart: 2^64 / golden ratio (Knuth,
// TAOCP 3, 6.4). Odd, so that no two keys have one product.
inline constexpr std::uint64_t kHashMultiplier = 0x9E3779B97F4A7C15u;

template <typename Word>
std::uint64_t load_word(const char* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// The bytes of a text of at most eight, the first one lowest.
inline std::uint64_t packed_bytes(std::string_view text) {
  const std::size_t size = text.size();
  const char* const data = text.data();
  if (size >= 4) {  // two words, which may overlap
    return load_word<std::uint32_t>(data) | load_word<std::uint32_t>(data + size - 4) << (8 * (size - 4));
  }
  if (size >= 2) return load_word<std::uint16_t>(data) | load_word<std::uint16_t>(data + size - 2) << (8 * (size - 2));
  return size == 1 ? static_cast<unsigned char>(data[0]) : 0;
}

// A hash whose high bits are the well-mixed ones.
inline std::uint64_t hash_word(std::string_view word) {
  std::uint64_t hash = word.size() * kHashMultiplier;
  for (; word.size() > 8; word.remove_prefix(8)) {
    hash = (hash ^ load_word<std::uint64_t>(word.data())) * kHashMultiplier;
    hash ^= hash >> 32;
  }
  return (hash ^ packed_bytes(word)) * kHashMultiplier;
}

}  // namespace vitrine::tokenizer
