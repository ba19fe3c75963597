#include "tokenizer/mask_scanners.h"

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/utf8.h"
#include "tokenizer/character_masks.h"

namespace vitrine::tokenizer {
namespace {

using Block = CharacterMasks::Block;

// Which bits of a block, as types: a pointer to a function would be called for each word.
template <auto... kMasks>
struct AnyOf {
  std::uint64_t operator()(const Block& block) const { return ((block.*kMasks) | ...); }
};
using Letters = AnyOf<&Block::letter>;
using Numbers = AnyOf<&Block::number>;
using Spaces = AnyOf<&Block::space>;
using Newlines = AnyOf<&Block::newline>;
using Others = AnyOf<&Block::other>;
using Marks = AnyOf<&Block::mark>;
using LettersAndMarks = AnyOf<&Block::letter, &Block::mark>;
struct OthersButMarks {
  std::uint64_t operator()(const Block& block) const { return block.other & ~block.mark; }
};
// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and [\p{Ll}\p{Lm}\p{Lo}\p{M}]
struct UpperLike {
  std::uint64_t operator()(const Block& block) const { return (block.letter | block.mark) & ~block.lower; }
};
struct LowerLike {
  std::uint64_t operator()(const Block& block) const { return (block.letter | block.mark) & ~block.upper; }
};
// [^\r\n\p{L}\p{N}]
struct Prefixes {
  std::uint64_t operator()(const Block& block) const { return block.other | (block.space & ~block.newline); }
};

// A text read by position. Every matcher below takes the position where a match may begin, which is inside the text,
// and answers where it ends; an answer equal to the position means that there is none.
struct Masked {
  std::string_view text;
  CharacterMasks masks;

  explicit Masked(std::string_view whole) : text(whole), masks(whole) {}

  char byte(std::size_t pos) const { return pos < text.size() ? text[pos] : '\0'; }
  std::size_t after(std::size_t pos) const { return pos + base::utf8_length(text[pos]); }
  std::size_t before(std::size_t pos) const {
    do
      --pos;
    while (pos > 0 && base::is_continuation(text[pos]));
    return pos;
  }
  template <typename Bits>
  bool is(std::size_t pos) const {
    return masks.is(pos, Bits());
  }
  template <typename Bits>
  std::size_t run(std::size_t pos) const {
    return masks.run_end(pos, Bits());
  }
};

// Which English contractions a splitter pattern names: 's|'t|'re|'ve|'m|'ll|'d
enum class Contractions { kNone, kLowerCase, kAnyCase };

template <Contractions kKind>
std::size_t match_contraction(const Masked& text, std::size_t pos) {
  if (kKind == Contractions::kNone || text.byte(pos) != '\'') return pos;
  const auto fold = [](char c) {
    return kKind == Contractions::kAnyCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = fold(text.byte(pos + 1));
  const char second = fold(text.byte(pos + 2));
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return pos + 2;
  if ((first == 'r' || first == 'v') && second == 'e') return pos + 3;
  if (first == 'l' && second == 'l') return pos + 3;
  // U+017F, the long s, folds to s.
  if (kKind == Contractions::kAnyCase && first == '\xC5' && second == '\xBF') return pos + 3;
  return pos;
}

// PREFIX?CLASS+ with PREFIX one space.
template <typename Bits>
std::size_t spaced_run(const Masked& text, std::size_t pos) {
  const std::size_t start = text.text[pos] == ' ' ? pos + 1 : pos;
  const std::size_t end = text.run<Bits>(start);
  return end > start ? end : pos;
}

// \s+(?!\S)|\s+ : all of the white space, but its last character is left to a word that follows.
std::size_t space_until(const Masked& text, std::size_t pos, std::size_t end) {
  if (end == text.text.size()) return end;
  const std::size_t last = text.before(end);
  return last > pos ? last : end;
}

// \s*[\r\n]+|\s+(?!\S)|\s+ : to the last line end, if there is one.
std::size_t white_space(const Masked& text, std::size_t pos) {
  const std::size_t end = text.run<Spaces>(pos);
  const std::size_t lines = text.masks.last_end(pos, end, Newlines());
  return lines > pos ? lines : space_until(text, pos, end);
}

// \p{N}{1,kMax}
template <int kMax>
std::size_t number(const Masked& text, std::size_t pos) {
  for (int i = 0; i < kMax && text.is<Numbers>(pos); ++i)
    pos = text.after(pos);
  return pos;
}

// GPT-2: letters, digits and the rest, each with at most one space before it. With kNumbersApart, SmolLM and StarCoder:
// every digit by itself, the text between digits as if it were alone.
template <bool kNumbersApart>
std::size_t match_gpt2(const Masked& text, std::size_t pos) {
  if (kNumbersApart && text.is<Numbers>(pos)) return text.after(pos);
  std::size_t end = match_contraction<Contractions::kLowerCase>(text, pos);
  if (end == pos) end = spaced_run<Letters>(text, pos);
  if (end == pos && !kNumbersApart) end = spaced_run<Numbers>(text, pos);
  if (end == pos) end = spaced_run<Others>(text, pos);
  if (end != pos) return end;
  end = text.run<Spaces>(pos);
  return kNumbersApart && text.is<Numbers>(end) ? end : space_until(text, pos, end);
}

// ` ?OTHER+` and the line ends (with kSlash also slashes) that follow.
template <bool kSlash, typename Bits>
std::size_t others(const Masked& text, std::size_t pos) {
  std::size_t end = spaced_run<Bits>(text, pos);
  if (end == pos) return pos;
  const auto goes_on = [](char c) { return c == '\r' || c == '\n' || (kSlash && c == '/'); };
  while (goes_on(text.byte(end)))
    ++end;
  return end;
}

// Llama 3 (numbers of up to three digits), Qwen 2 (single digits), Qwen 3.5 (marks belong to words), GPT-4 (cl100k:
// white space at the end of the text is one word, line ends or not).
template <int kMaxDigits, bool kMarks, bool kEndSpace>
std::size_t match_llama3(const Masked& text, std::size_t pos) {
  using Word = std::conditional_t<kMarks, LettersAndMarks, Letters>;
  using NoWord = std::conditional_t<kMarks, OthersButMarks, Others>;
  std::size_t end = match_contraction<Contractions::kAnyCase>(text, pos);
  if (end != pos) return end;
  if (text.is<Prefixes>(pos)) {
    const std::size_t start = text.after(pos);
    end = text.run<Word>(start);
    if (end > start) return end;
  }
  end = text.run<Word>(pos);
  if (end == pos) end = number<kMaxDigits>(text, pos);
  if (end == pos) end = others<false, NoWord>(text, pos);
  if (end != pos) return end;
  if (kEndSpace && text.run<Spaces>(pos) == text.text.size()) return text.text.size();
  return white_space(text, pos);
}

// UPPER*LOWER+ : the upper run gives back what LOWER needs, at most down to its last character that is both.
std::size_t lower_word(const Masked& text, std::size_t pos, std::size_t upper_end, std::size_t end) {
  if (end > upper_end) return end;
  return text.masks.last_end(pos, upper_end, LowerLike());
}

// UPPER*LOWER+|UPPER+LOWER* from `start` on for nearly all words, without a loop: those that end within 64 bytes, and
// of which the first kind alone gives nothing back, as it has no character that is both or ends in one. 0 for others.
std::size_t short_cased_word(const Masked& text, std::size_t start) {
  const std::uint64_t upper = text.masks.window(start, UpperLike());
  const std::uint64_t lower = text.masks.window(start, LowerLike());
  const int upper_size = std::countr_one(upper);
  const int lower_size = upper_size < 64 ? std::countr_one(lower >> upper_size) : 0;
  const int size = upper_size + lower_size;
  if (size == 0 || size >= 64) return 0;
  const std::uint64_t both = upper & lower & ~(~std::uint64_t{0} << upper_size);
  const bool gives_nothing_back = lower_size > 0 || both == 0 || (both >> (upper_size - 1)) != 0;
  return gives_nothing_back ? start + static_cast<std::size_t>(size) : 0;
}

// [^\r\n\p{L}\p{N}]?UPPER*LOWER+|[^\r\n\p{L}\p{N}]?UPPER+LOWER*
std::size_t cased_word(const Masked& text, std::size_t pos) {
  const std::size_t start = text.is<Prefixes>(pos) ? text.after(pos) : pos;
  const bool may_begin_with_mark = text.is<Marks>(pos);
  if (const std::size_t end = may_begin_with_mark ? 0 : short_cased_word(text, start); end != 0) return end;
  const std::size_t upper_end = text.run<UpperLike>(start);
  const std::size_t end = text.run<LowerLike>(upper_end);
  if (const std::size_t lower_end = lower_word(text, start, upper_end, end); lower_end > start) return lower_end;
  if (start == pos) return end;
  // A prefix that is a mark is a word by itself where none follows it.
  const std::size_t mark_upper_end = text.run<UpperLike>(pos);
  const std::size_t mark_end = text.run<LowerLike>(mark_upper_end);
  if (const std::size_t lower_end = lower_word(text, pos, mark_upper_end, mark_end); lower_end > pos) return lower_end;
  return upper_end > start ? end : mark_end;
}

// GPT-4o (o200k) and Mistral's Tekken: words split where lower case turns into upper case.
template <Contractions kContractions, int kMaxDigits>
std::size_t match_o200k(const Masked& text, std::size_t pos) {
  std::size_t end = cased_word(text, pos);
  if (end != pos) return match_contraction<kContractions>(text, end);
  end = number<kMaxDigits>(text, pos);
  if (end == pos) end = others<true, Others>(text, pos);
  return end != pos ? end : white_space(text, pos);
}

template <std::size_t (*kMatch)(const Masked&, std::size_t)>
void scan_all(std::string_view text, std::vector<Range>& matches) {
  const Masked masked(text);
  for (std::size_t pos = 0; pos < text.size();) {
    const std::size_t end = kMatch(masked, pos);
    matches.push_back({static_cast<std::uint32_t>(pos), static_cast<std::uint32_t>(end)});
    pos = end;
  }
}

}  // namespace

void scan_gpt2(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_gpt2<false>>(text, matches);
}
void scan_number_gpt2(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_gpt2<true>>(text, matches);
}
void scan_llama3(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_llama3<3, false, false>>(text, matches);
}
void scan_cl100k(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_llama3<3, false, true>>(text, matches);
}
void scan_qwen2(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_llama3<1, false, false>>(text, matches);
}
void scan_qwen3_5(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_llama3<1, true, false>>(text, matches);
}
void scan_o200k(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_o200k<Contractions::kAnyCase, 3>>(text, matches);
}
void scan_tekken(std::string_view text, std::vector<Range>& matches) {
  scan_all<match_o200k<Contractions::kNone, 1>>(text, matches);
}

}  // namespace vitrine::tokenizer
