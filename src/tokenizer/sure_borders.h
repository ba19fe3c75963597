#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/unknown_characters.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

// Borders between characters that no token of a byte-level vocabulary reaches across. BPE makes nothing but tokens, so
// what stands on the two sides of such a border is encoded as if the other side were not there: a clause of Chinese,
// one word to most patterns, falls into parts of a character or two, and nearly all of those were met before.
// Looked for between characters of three bytes, and between one of those and ASCII. Any thread.
class SureBorders {
 public:
  static constexpr TokenId kMaxId = (TokenId{1} << 20) - 2;
  static constexpr std::size_t kCharacterBytes = 3;
  static constexpr std::size_t kMaxIds = kCharacterBytes;

  // nullptr where a byte has no token, and for vocabularies of over a million tokens.
  static std::unique_ptr<SureBorders> build(const Vocabulary& vocabulary, const ByteIds& byte_ids);

  // Whether to look for borders in a word of valid UTF-8: most that have such characters have one at an end, or at the
  // beginning behind a space or a sign.
  static bool may_divide(std::string_view word) {
    return word.size() > kCharacterBytes && (is_lead(word[0]) || is_lead(word[1]) || is_lead(word[word.size() - 3]));
  }
  // Whether the border between two neighbours is sure; never where one takes two bytes or four, nor within ASCII.
  bool between(char32_t left, char32_t right) const {
    if (!is_looked_at(left) || !is_looked_at(right) || (is_ascii(left) && is_ascii(right))) return false;
    const bool may_join = is_pair(left, right) || ((entry(left) & kBeforePart) | (entry(right) & kBehindPart)) != 0 ||
                          is_pair_of_parts(left, right);
    return !may_join || !joins(left, right);
  }

  // The tokens of a character of three bytes as a part of its own, once they were kept: writes kMaxIds ids, and answers
  // how many are the character's; 0 where they were not kept.
  std::size_t find(char32_t character, TokenId* ids) const {
    const std::uint64_t kept = entry(character);
    for (std::size_t i = 0; i < kMaxIds; ++i)
      ids[i] = static_cast<TokenId>(kept >> (i * kIdBits) & kIdMask) - 1;
    return kept >> kCountShift & 3U;
  }
  // At least one id, at most kMaxIds.
  void keep(char32_t character, std::span<const TokenId> ids);

 private:
  static constexpr std::size_t kCharacters = std::size_t{1} << 16;
  static constexpr std::size_t kTails = 64;
  // Parts of characters, as codes in place of those that are not looked at: the last six bits, and the first half byte.
  static constexpr char32_t kFirstTail = 0x80;
  static constexpr char32_t kFirstLead = 0xC0;
  // An entry: three times an id plus one, how many they are, and whether some token has the character and then the
  // beginning of another one, or the end of another one and then the character.
  static constexpr unsigned kIdBits = 20;
  static constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;
  static constexpr unsigned kCountShift = 60;
  static constexpr std::uint64_t kBeforePart = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kBehindPart = std::uint64_t{1} << 63;

  struct Pair {
    char32_t left, right;
  };

  SureBorders();

  void add_token(std::string_view token, std::vector<Pair>& pairs);
  void add_border(char32_t left, char32_t right, std::vector<Pair>& pairs);
  void add(const std::vector<Pair>& pairs);
  void mark(char32_t character, std::uint64_t flag) {
    characters_[character].fetch_or(flag, std::memory_order_relaxed);
  }
  static bool is_lead(char byte) { return (static_cast<unsigned char>(byte) & 0xF0U) == 0xE0; }
  static bool is_ascii(char32_t character) { return character < 0x80; }
  static bool is_looked_at(char32_t character) {
    return is_ascii(character) || (character >= 0x800 && character < kCharacters);
  }
  static bool is_part(char32_t code) { return code >= kFirstTail && code < 0x800; }
  static char32_t tail_of(char32_t character) { return kFirstTail + character % kTails; }
  static char32_t lead_of(char32_t character) { return kFirstLead + (character >> 12); }
  std::uint64_t entry(char32_t character) const { return characters_[character].load(std::memory_order_relaxed); }
  bool joins(char32_t left, char32_t right) const;
  bool is_pair(char32_t left, char32_t right) const {
    const std::size_t bit = bit_of(left, right);
    return (pairs_[bit / 64] >> bit % 64 & 1U) != 0;
  }
  bool is_pair_of_parts(char32_t left, char32_t right) const {
    return (leads_behind_[left % kTails] >> (right >> 12) & 1U) != 0;
  }
  std::size_t bit_of(char32_t left, char32_t right) const {
    return static_cast<std::size_t>((std::uint64_t{left} << 16 | right) * kHashMultiplier >> shift_);
  }

  std::vector<std::atomic<std::uint64_t>> characters_;
  std::vector<std::uint64_t> pairs_;  // by hash, a bit for each two, characters or parts, side by side in a token
  unsigned shift_ = 63;
  // By the last six bits of a character, a bit for each first half byte of the next one: some token has parts of both.
  std::array<std::uint16_t, kTails> leads_behind_{};
};

}  // namespace vitrine::tokenizer
