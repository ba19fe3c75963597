#include "tokenizer/sure_borders.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"

namespace vitrine::tokenizer {
namespace {

// Bits for each pair: one of so many borders is taken for unsure without need.
constexpr std::size_t kBitsPerPair = 16;
// The alphabet spells 0xE0 to 0xEF, with which characters of three bytes begin, as U+00E0 to U+00EF.
constexpr char kSpelledLead = '\xC3';
constexpr char32_t kNoCharacter = ~char32_t{0};

// The pieces of a vocabulary that may have a border to look at: that have the first byte of a character of three, or
// begin within a character. Most have and do neither, and are passed over by a search through all pieces at once.
class Candidates {
 public:
  explicit Candidates(const Vocabulary& vocabulary) : all_(vocabulary.bytes()) {}

  // Cheap where it is asked in the order in which the pieces were added.
  bool include(std::string_view piece) {
    if (piece.size() < 3) return false;  // one byte
    const bool begins_in_ascii = static_cast<signed char>(piece[0]) >= 0 || piece.starts_with(space_);
    if (!begins_in_ascii && piece[0] != kSpelledLead) return true;
    const auto begin = static_cast<std::size_t>(piece.data() - all_.data());
    if (begin < last_begin_ || begin > next_lead_) next_lead_ = find_lead(begin);
    last_begin_ = begin;
    return next_lead_ < begin + piece.size();
  }

 private:
  std::size_t find_lead(std::size_t from) const {
    for (std::size_t pos = all_.find(kSpelledLead, from); pos != std::string_view::npos;
         pos = all_.find(kSpelledLead, pos + 1)) {
      if (pos + 1 < all_.size() && (static_cast<unsigned char>(all_[pos + 1]) & 0xF0U) == 0xA0) return pos;
    }
    return all_.size();
  }

  std::string_view all_;
  std::string_view space_ = spelling_of_byte(' ');
  std::size_t last_begin_ = 0;
  std::size_t next_lead_ = 0;  // the first one behind last_begin_
};

}  // namespace

SureBorders::SureBorders() : characters_(kCharacters) {}

std::unique_ptr<SureBorders> SureBorders::build(const Vocabulary& vocabulary, const ByteIds& byte_ids) {
  if (vocabulary.size() > static_cast<std::size_t>(kMaxId)) return nullptr;
  if (std::ranges::any_of(byte_ids, [](TokenId id) { return id < 0; })) return nullptr;
  std::unique_ptr<SureBorders> borders(new SureBorders);
  Candidates candidates(vocabulary);
  std::vector<Pair> pairs;
  std::string bytes;
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary.size(); ++id) {
    const std::string_view spelling = vocabulary.piece(id);
    bytes.clear();
    if (candidates.include(spelling) && append_bytes_of_spelling(spelling, bytes)) borders->add_token(bytes, pairs);
  }
  borders->add(pairs);
  return borders;
}

// What is no UTF-8 stands in no text, so nothing need be found in it.
void SureBorders::add_token(std::string_view token, std::vector<Pair>& pairs) {
  std::size_t pos = 0;
  while (pos < token.size() && base::is_continuation(token[pos]))
    ++pos;
  char32_t left = pos == 0 ? kNoCharacter : tail_of(static_cast<unsigned char>(token[pos - 1]));
  while (pos < token.size()) {
    std::size_t length = base::utf8_length(token[pos]);
    const bool is_whole = pos + length <= token.size();
    if (!is_whole && length != kCharacterBytes) return;
    const char32_t right = is_whole ? base::decode_valid_utf8(token.data() + pos, length)
                                    : kFirstLead + (static_cast<unsigned char>(token[pos]) & 0xFU);
    if (left != kNoCharacter && (!is_whole || is_looked_at(right))) add_border(left, right, pairs);
    left = is_whole && is_looked_at(right) ? right : kNoCharacter;
    pos += length;
  }
}

void SureBorders::add_border(char32_t left, char32_t right, std::vector<Pair>& pairs) {
  const bool behind_part = is_part(left);
  const bool before_part = is_part(right);
  if (behind_part && before_part) {
    leads_behind_[left - kFirstTail] |= static_cast<std::uint16_t>(1U << (right - kFirstLead));
    return;
  }
  pairs.push_back({left, right});
  if (behind_part) mark(right, kBehindPart);
  if (before_part) mark(left, kBeforePart);
}

// After a first look at flags alone. ASCII has no parts.
bool SureBorders::joins(char32_t left, char32_t right) const {
  if (is_pair(left, right)) return true;
  if (!is_ascii(right) && (entry(left) & kBeforePart) != 0 && is_pair(left, lead_of(right))) return true;
  if (!is_ascii(left) && (entry(right) & kBehindPart) != 0 && is_pair(tail_of(left), right)) return true;
  return !is_ascii(left) && !is_ascii(right) && is_pair_of_parts(left, right);
}

void SureBorders::add(const std::vector<Pair>& pairs) {
  pairs_.resize(std::bit_ceil(std::max<std::size_t>(64, pairs.size() * kBitsPerPair)) / 64);
  shift_ = static_cast<unsigned>(64 - std::countr_zero(pairs_.size() * 64));
  for (const Pair& pair : pairs) {
    const std::size_t bit = bit_of(pair.left, pair.right);
    pairs_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

void SureBorders::keep(char32_t character, std::span<const TokenId> ids) {
  std::uint64_t kept = std::uint64_t{ids.size()} << kCountShift;
  for (std::size_t i = 0; i < ids.size(); ++i)
    kept |= static_cast<std::uint64_t>(ids[i] + 1) << (i * kIdBits);
  characters_[character].fetch_or(kept, std::memory_order_relaxed);
}

}  // namespace vitrine::tokenizer
