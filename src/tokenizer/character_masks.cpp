#include "tokenizer/character_masks.h"

#include <algorithm>
#include <array>
#include <cstring>

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

std::array<std::uint8_t, 128> make_ascii_classes() {
  std::array<std::uint8_t, 128> classes{};
  for (unsigned char c = 0; c < classes.size(); ++c)
    classes[c] = class_of(c);
  return classes;
}

// U+4E00 to U+9FFF are letters without case; nearly all Chinese and Japanese text is made of them.
bool is_ideograph(const unsigned char* text) {
  return (text[0] >= 0xE5 && text[0] <= 0xE9) || (text[0] == 0xE4 && text[1] >= 0xB8);
}

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

bool is_ascii(const unsigned char* text) {
  const __m128i first = _mm_or_si128(load(text), load(text + 16));
  return _mm_movemask_epi8(_mm_or_si128(first, _mm_or_si128(load(text + 32), load(text + 48)))) == 0;
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
  block.letter = block.lower | block.upper;
  block.other = ~(block.letter | block.number | block.space);
}

void gather_bits(const std::uint8_t* classes, Block& block) {
  for (std::size_t at = 0; at < kBlockBytes; at += 16) {
    const __m128i bytes = load(classes + at);
    block.letter |= bits_of(_mm_slli_epi16(bytes, 7), at);
    block.number |= bits_of(_mm_slli_epi16(bytes, 6), at);
    block.space |= bits_of(_mm_slli_epi16(bytes, 5), at);
    block.newline |= bits_of(_mm_slli_epi16(bytes, 4), at);
    block.mark |= bits_of(_mm_slli_epi16(bytes, 3), at);
    block.upper |= bits_of(_mm_slli_epi16(bytes, 2), at);
    block.lower |= bits_of(_mm_slli_epi16(bytes, 1), at);
    block.other |= bits_of(bytes, at);
  }
}

#else

bool is_ascii(const unsigned char*) {
  return false;
}

void classify_ascii(const unsigned char*, Block&) {}

void gather_bits(const std::uint8_t* classes, Block& block) {
  std::uint64_t* const masks[] = {&block.letter, &block.number, &block.space, &block.newline,
                                  &block.mark,   &block.upper,  &block.lower, &block.other};
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit)
      *masks[bit] |= std::uint64_t{classes[i] >> bit & 1U} << i;
  }
}

#endif

// Writes the classes of characters block by block; what of a character lies beyond its block waits for the next one.
class ClassWriter {
 public:
  // `text`: of a block, whose last character may go on for three bytes behind it.
  void classify(const unsigned char* text, Block& block) {
    static const std::array<std::uint8_t, 128> kAsciiClasses = make_ascii_classes();
    std::size_t length = 0;
    std::size_t i = carried_;
    for (; i < kBlockBytes; i += length) {
      if (text[i] < 0x80) {
        classes_[i] = kAsciiClasses[text[i]];
        length = 1;
        continue;
      }
      std::uint8_t character = kLetter;
      if (is_ideograph(text + i)) {
        length = 3;
      } else {
        character = class_of(base::decode_valid_utf8(reinterpret_cast<const char*>(text) + i, length));
      }
      std::memset(classes_.data() + i, character, 4);  // what is too much is written over
    }
    gather_bits(classes_.data(), block);
    carried_ = i - kBlockBytes;
    std::copy_n(classes_.begin() + kBlockBytes, 4, classes_.begin());
  }

 private:
  std::array<std::uint8_t, kBlockBytes + 4> classes_{};
  std::size_t carried_ = 0;
};

void cut_off(Block& block, std::uint64_t inside) {
  for (std::uint64_t* mask : {&block.letter, &block.number, &block.space, &block.newline, &block.mark, &block.upper,
                              &block.lower, &block.other}) {
    *mask &= inside;
  }
}

}  // namespace

CharacterMasks::CharacterMasks(std::string_view text) : blocks_(text.size() / kBlockBytes + 2) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  ClassWriter writer;
  const auto classify = [&writer](const unsigned char* at, Block& block) {
    if (is_ascii(at)) return classify_ascii(at, block);
    writer.classify(at, block);
  };
  // The last character of a block may reach beyond it.
  std::size_t pos = 0;
  for (; pos + kBlockBytes + 4 <= text.size(); pos += kBlockBytes)
    classify(bytes + pos, blocks_[pos / kBlockBytes]);
  std::array<unsigned char, 2 * kBlockBytes + 8> rest{};
  std::copy(text.begin() + static_cast<std::ptrdiff_t>(pos), text.end(), rest.begin());
  for (std::size_t at = 0; pos < text.size(); at += kBlockBytes, pos += kBlockBytes) {
    Block& block = blocks_[pos / kBlockBytes];
    classify(rest.data() + at, block);
    if (text.size() - pos < kBlockBytes) cut_off(block, (std::uint64_t{1} << (text.size() - pos)) - 1);
  }
}

}  // namespace vitrine::tokenizer
