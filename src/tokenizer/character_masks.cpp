#include "tokenizer/character_masks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/unicode.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace vitrine::tokenizer {
namespace {

using Block = CharacterMasks::Block;
constexpr std::size_t kBlockBytes = 64;

// The masks of a block as bits of a byte.
enum CharacterClass : std::uint8_t {
  kLetter = 1,
  kNumber = 2,
  kSpace = 4,
  kNewline = 8,
  kMark = 16,
  kUpper = 32,
  kLower = 64,
  kOther = 128,
};

std::uint8_t class_of(char32_t cp) {
  const Category c = category(cp);
  if (c == Category::kLl) return kLetter | kLower;
  if (c == Category::kLu || c == Category::kLt) return kLetter | kUpper;
  if (is_letter(cp)) return kLetter;
  if (is_number(cp)) return kNumber;
  if (is_space(cp)) return cp == '\n' || cp == '\r' ? kSpace | kNewline : kSpace;
  return is_mark(cp) ? kMark | kOther : kOther;
}

void add_bits(Block& block, std::uint8_t character_class, std::uint64_t bits) {
  const auto add = [&](std::uint64_t& mask, CharacterClass wanted) {
    mask |= (character_class & wanted) != 0 ? bits : 0;
  };
  add(block.letter, kLetter);
  add(block.number, kNumber);
  add(block.space, kSpace);
  add(block.newline, kNewline);
  add(block.mark, kMark);
  add(block.upper, kUpper);
  add(block.lower, kLower);
  add(block.other, kOther);
}

// U+4E00 to U+9FFF are letters without case; nearly all Chinese and Japanese text is made of them. They begin with
// kFirstOnlyIdeographs to kLastIdeographs, or with the byte before those and one from kFirstIdeograph on.
constexpr unsigned char kFirstOnlyIdeographs = 0xE5;
constexpr unsigned char kLastIdeographs = 0xE9;
constexpr unsigned char kFirstIdeograph = 0xB8;

// What of a block is not ASCII: the bits of its bytes, of first bytes that only ideographs have, of the first byte that
// they share with others, and of what may follow that one in an ideograph.
struct BeyondAscii {
  std::uint64_t bytes = 0;
  std::uint64_t ideographs = 0;
  std::uint64_t maybe_ideographs = 0;
  std::uint64_t ideographs_second = 0;
};

#ifdef __SSE2__

// The bits of the bytes first..first + count - 1 as `count` stands for.
__m128i in_range(__m128i bytes, unsigned char first, unsigned char count) {
  const __m128i from_lowest = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(0x80 - first)));
  return _mm_cmplt_epi8(from_lowest, _mm_set1_epi8(static_cast<char>(0x80 + count)));
}

std::uint64_t bits_of(__m128i bytes, std::size_t at) {
  return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(bytes))} << at;
}

__m128i load(const unsigned char* text) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
}

void classify_ascii(const unsigned char* text, Block& block) {
  for (std::size_t at = 0; at < kBlockBytes; at += 16) {
    const __m128i bytes = load(text + at);
    const __m128i newline =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
    const __m128i space = _mm_or_si128(in_range(bytes, '\t', 5), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')));
    block.lower |= bits_of(in_range(bytes, 'a', 26), at);
    block.upper |= bits_of(in_range(bytes, 'A', 26), at);
    block.number |= bits_of(in_range(bytes, '0', 10), at);
    block.space |= bits_of(space, at);
    block.newline |= bits_of(newline, at);
  }
}

BeyondAscii look_beyond_ascii(const unsigned char* text) {
  BeyondAscii beyond;
  for (std::size_t at = 0; at < kBlockBytes; at += 16) {
    const __m128i bytes = load(text + at);
    constexpr auto kCount = static_cast<unsigned char>(kLastIdeographs - kFirstOnlyIdeographs + 1);
    constexpr auto kContinuations = static_cast<unsigned char>(0xC0 - kFirstIdeograph);
    beyond.bytes |= bits_of(bytes, at);
    beyond.ideographs |= bits_of(in_range(bytes, kFirstOnlyIdeographs, kCount), at);
    beyond.maybe_ideographs |= bits_of(in_range(bytes, kFirstOnlyIdeographs - 1, 1), at);
    beyond.ideographs_second |= bits_of(in_range(bytes, kFirstIdeograph, kContinuations), at);
  }
  return beyond;
}

#else

void classify_ascii(const unsigned char* text, Block& block) {
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    if (text[i] < 0x80 && class_of(text[i]) != kOther) add_bits(block, class_of(text[i]), std::uint64_t{1} << i);
  }
}

BeyondAscii look_beyond_ascii(const unsigned char* text) {
  BeyondAscii beyond;
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    const auto bit = [&](bool set) { return std::uint64_t{set} << i; };
    beyond.bytes |= bit(text[i] >= 0x80);
    beyond.ideographs |= bit(text[i] >= kFirstOnlyIdeographs && text[i] <= kLastIdeographs);
    beyond.maybe_ideographs |= bit(text[i] == kFirstOnlyIdeographs - 1);
    beyond.ideographs_second |= bit(text[i] >= kFirstIdeograph && text[i] < 0xC0);
  }
  return beyond;
}

#endif

// Writes the classes of characters block by block; what of a character lies beyond its block waits for the next one.
class ClassWriter {
 public:
  // `text`: of a block, whose last character may go on for three bytes behind it.
  void classify(const unsigned char* text, Block& block) {
    classify_ascii(text, block);
    block.letter = block.lower | block.upper;
    const BeyondAscii beyond = look_beyond_ascii(text);
    block.other = ~(block.letter | block.number | block.space | beyond.bytes);
    if (beyond.bytes != 0) classify_beyond_ascii(text, beyond, block);
  }

 private:
  void classify_beyond_ascii(const unsigned char* text, const BeyondAscii& beyond, Block& block) {
    std::uint64_t todo = beyond.bytes & ~carried_bits_;
    add_bits(block, carried_class_, std::exchange(carried_bits_, 0));
    const std::uint64_t second_of_next = text[kBlockBytes] >= kFirstIdeograph && text[kBlockBytes] < 0xC0 ? 1 : 0;
    const std::uint64_t ideographs =
        beyond.ideographs | (beyond.maybe_ideographs & (beyond.ideographs_second >> 1 | second_of_next << 63));
    const std::uint64_t letters = ideographs | ideographs << 1 | ideographs << 2;
    block.letter |= letters;
    if (const std::uint64_t last = ideographs >> 62; last != 0) carry(kLetter, last == 1 ? 1 : 3);
    for (todo &= ~letters; todo != 0;) {
      const auto at = static_cast<std::size_t>(std::countr_zero(todo));
      std::size_t length = 0;
      const std::uint8_t character =
          class_of(base::decode_valid_utf8(reinterpret_cast<const char*>(text) + at, length));
      const std::uint64_t bits = (std::uint64_t{1} << length) - 1;
      add_bits(block, character, bits << at);
      todo &= ~(bits << at);
      if (at + length > kBlockBytes) carry(character, bits >> (kBlockBytes - at));
    }
  }
  void carry(std::uint8_t character_class, std::uint64_t bits) {
    carried_class_ = character_class;
    carried_bits_ = bits;
  }

  std::uint8_t carried_class_ = 0;
  std::uint64_t carried_bits_ = 0;  // of the next block
};

void cut_off(Block& block, std::uint64_t inside) {
  for (std::uint64_t* mask : {&block.letter, &block.number, &block.space, &block.newline, &block.mark, &block.upper,
                              &block.lower, &block.other}) {
    *mask &= inside;
  }
}

}  // namespace

CharacterMasks::CharacterMasks(std::string_view text) : blocks_(text.size() / kBlockBytes + 3) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  ClassWriter writer;
  // The last character of a block may reach beyond it.
  std::size_t pos = 0;
  for (; pos + kBlockBytes + 4 <= text.size(); pos += kBlockBytes)
    writer.classify(bytes + pos, blocks_[pos / kBlockBytes]);
  std::array<unsigned char, 2 * kBlockBytes + 8> rest{};
  std::copy(text.begin() + static_cast<std::ptrdiff_t>(pos), text.end(), rest.begin());
  for (std::size_t at = 0; pos < text.size(); at += kBlockBytes, pos += kBlockBytes) {
    Block& block = blocks_[pos / kBlockBytes];
    writer.classify(rest.data() + at, block);
    if (text.size() - pos < kBlockBytes) cut_off(block, (std::uint64_t{1} << (text.size() - pos)) - 1);
  }
}

}  // namespace vitrine::tokenizer
