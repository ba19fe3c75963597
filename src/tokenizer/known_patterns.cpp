#include "tokenizer/known_patterns.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/mask_scanners.h"
#include "tokenizer/unicode.h"

namespace vitrine::tokenizer {
namespace {

// A text read by position. Every matcher below takes the position where a match may begin and answers where it ends;
// an answer equal to the position means that there is none.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t size() const { return text_.size(); }
  bool at_end(std::size_t pos) const { return pos >= text_.size(); }
  char byte(std::size_t pos) const { return pos < text_.size() ? text_[pos] : '\0'; }
  char32_t at(std::size_t pos, std::size_t& length) const {
    return base::decode_valid_utf8(text_.data() + pos, length);
  }
  std::size_t after(std::size_t pos) const { return pos + base::utf8_length(text_[pos]); }

  template <typename Predicate>
  bool is(std::size_t pos, Predicate predicate) const {
    std::size_t length = 0;
    return pos < text_.size() && predicate(at(pos, length));
  }

  // The end of the run, from `pos` on, of characters that satisfy the predicate.
  template <typename Predicate>
  std::size_t skip(std::size_t pos, Predicate predicate) const {
    std::size_t length = 0;
    while (pos < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[pos]);
      if (byte < 0x80) {
        if (!predicate(byte)) break;
        ++pos;
      } else {
        if (!predicate(at(pos, length))) break;
        pos += length;
      }
    }
    return pos;
  }

  std::size_t before(std::size_t pos) const {
    do
      --pos;
    while (pos > 0 && base::is_continuation(text_[pos]));
    return pos;
  }

 private:
  std::string_view text_;
};

// A property of characters as a type: a pointer to a function would be called for each character.
template <bool (*kProperty)(char32_t)>
struct Is {
  bool operator()(char32_t cp) const { return kProperty(cp); }
};

inline bool is_newline(char32_t cp) {
  return cp == '\r' || cp == '\n';
}
inline bool is_letter_or_mark(char32_t cp) {
  return is_letter(cp) || is_mark(cp);
}
inline bool is_punctuation_or_symbol(char32_t cp) {
  return is_punctuation(cp) || is_symbol(cp);
}
inline bool is_ascii_punctuation(char32_t cp) {
  return (cp >= '!' && cp <= '/') || (cp >= ':' && cp <= '@') || (cp >= '[' && cp <= '`') || (cp >= '{' && cp <= '~');
}
inline bool is_ascii_letter(char32_t cp) {
  return (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z');
}
inline bool is_any_punctuation(char32_t cp) {
  return is_ascii_punctuation(cp) || is_punctuation(cp);
}

// What Falcon splits off first.
bool is_falcon_mark(char32_t cp) {
  return is_punctuation(cp) || cp == '$' || cp == '+' || (cp >= '<' && cp <= '>') || cp == '^' || cp == '~' ||
         cp == '|' || cp == '`';
}

// PREFIX?CLASS+ with PREFIX one space.
template <typename Predicate>
std::size_t match_spaced_run(const Scanner& scanner, std::size_t pos, Predicate predicate) {
  const std::size_t start = scanner.byte(pos) == ' ' ? pos + 1 : pos;
  const std::size_t end = scanner.skip(start, predicate);
  return end > start ? end : pos;
}

// \s*[\r\n]+ : to the last line end of the white space.
std::size_t match_lines(const Scanner& scanner, std::size_t pos) {
  std::size_t end = pos;
  std::size_t length = 0;
  for (std::size_t i = pos; !scanner.at_end(i); i += length) {
    const char32_t cp = scanner.at(i, length);
    if (!is_space(cp)) break;
    if (is_newline(cp)) end = i + length;
  }
  return end;
}

// \s+(?!\S)|\s+ : all of the white space, but its last character is left to a word that follows.
std::size_t match_space(const Scanner& scanner, std::size_t pos) {
  const std::size_t end = scanner.skip(pos, Is<is_space>());
  if (end == pos || scanner.at_end(end)) return end;
  const std::size_t last = scanner.before(end);
  return last > pos ? last : end;
}

// \p{N}{1,kMax}; kMax 0 is without limit.
template <int kMax>
std::size_t match_number(const Scanner& scanner, std::size_t pos) {
  std::size_t length = 0;
  for (int i = 0; (kMax == 0 || i < kMax) && !scanner.at_end(pos) && is_number(scanner.at(pos, length)); ++i) {
    pos += length;
  }
  return pos;
}

// ` ?OTHER+` and the line ends (with kSlash also slashes) that follow.
template <bool kSlash, typename Predicate>
std::size_t match_others(const Scanner& scanner, std::size_t pos, Predicate predicate) {
  const std::size_t end = match_spaced_run(scanner, pos, predicate);
  if (end == pos) return pos;
  return scanner.skip(end, [](char32_t cp) { return is_newline(cp) || (kSlash && cp == '/'); });
}

std::size_t match_white_space(const Scanner& scanner, std::size_t pos) {
  const std::size_t end = match_lines(scanner, pos);
  return end != pos ? end : match_space(scanner, pos);
}

// The last of DeepSeek V3's three patterns.
std::size_t match_deepseek_words(const Scanner& scanner, std::size_t pos) {
  if (scanner.is(pos, Is<is_ascii_punctuation>())) {
    const std::size_t end = scanner.skip(pos + 1, Is<is_ascii_letter>());
    if (end > pos + 1) return end;
  }
  const auto is_prefix = [](char32_t cp) { return !is_newline(cp) && !is_letter(cp) && !is_punctuation_or_symbol(cp); };
  std::size_t start = scanner.is(pos, is_prefix) ? scanner.after(pos) : pos;
  std::size_t end = scanner.skip(start, Is<is_letter_or_mark>());
  if (end > start) return end;
  end = scanner.skip(pos, Is<is_letter_or_mark>());
  if (end == pos) end = match_others<false>(scanner, pos, Is<is_punctuation_or_symbol>());
  return end != pos ? end : match_white_space(scanner, pos);
}

inline bool is_deepseek_cjk(char32_t cp) {
  return (cp >= 0x4E00 && cp <= 0x9FA5) || (cp >= 0x3040 && cp <= 0x30FF);
}

template <bool (*kPredicate)(char32_t)>
std::size_t match_run(const Scanner& scanner, std::size_t pos) {
  return scanner.skip(pos, Is<kPredicate>());
}

template <bool (*kPredicate)(char32_t)>
std::size_t match_one(const Scanner& scanner, std::size_t pos) {
  return scanner.is(pos, Is<kPredicate>()) ? scanner.after(pos) : pos;
}

// [0-9][0-9][0-9]
std::size_t match_three_digits(const Scanner& scanner, std::size_t pos) {
  std::size_t end = pos;
  while (end < pos + 3 && scanner.byte(end) >= '0' && scanner.byte(end) <= '9')
    ++end;
  return end == pos + 3 ? end : pos;
}

// \w+|[^\w\s]+
std::size_t match_word_or_rest(const Scanner& scanner, std::size_t pos) {
  const std::size_t end = scanner.skip(pos, Is<is_word>());
  return end != pos ? end : scanner.skip(pos, [](char32_t cp) { return !is_word(cp) && !is_space(cp); });
}

template <std::size_t (*kMatch)(const Scanner&, std::size_t)>
void scan(std::string_view text, std::vector<Range>& matches) {
  const Scanner scanner(text);
  std::size_t pos = 0;
  while (pos < text.size()) {
    const std::size_t end = kMatch(scanner, pos);
    if (end == pos) {
      pos = scanner.after(pos);
      continue;
    }
    matches.push_back({static_cast<std::uint32_t>(pos), static_cast<std::uint32_t>(end)});
    pos = end;
  }
}

bool is_letter_before(std::string_view text, std::size_t pos) {
  std::size_t start = pos - 1;
  while (start > 0 && pos - start < 4 && base::is_continuation(text[start]))
    --start;
  const base::CodePoint code_point = base::decode_utf8(text.substr(start, pos - start));
  return code_point.valid && start + code_point.length == pos && is_letter(code_point.value);
}

bool is_letter_at(std::string_view text, std::size_t pos) {
  if (pos >= text.size()) return false;
  const base::CodePoint code_point = base::decode_utf8(text.substr(pos));
  return code_point.valid && is_letter(code_point.value);
}

constexpr std::string_view kWideComma = "\xEF\xBC\x8C";  // U+FF0C
constexpr std::string_view kWideStop = "\xE3\x80\x82";   // U+3002

constexpr bool kCoversAll = true;
constexpr KnownPattern kPatterns[] = {
    {"gpt2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", scan_gpt2, Cuts::kWords,
     kCoversAll},
    {"llama3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_llama3, Cuts::kWords, kCoversAll},
    {"cl100k",
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
     scan_cl100k, Cuts::kWords, kCoversAll},
    {"qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_qwen2, Cuts::kWords, kCoversAll},
    {"qwen3.5",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_qwen3_5, Cuts::kWords, kCoversAll},
    {"o200k",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_o200k, Cuts::kWords, kCoversAll},
    {"tekken",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_tekken, Cuts::kWords, kCoversAll},
    {"deepseek_words",
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
     " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     scan<match_deepseek_words>, Cuts::kWords},
    {"deepseek_cjk", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", scan<match_run<is_deepseek_cjk>>, Cuts::kNothing},
    {"falcon_marks", R"([\p{P}\$\+<=>\^~\|`]+)", scan<match_run<is_falcon_mark>>, Cuts::kNothing},
    {"digits_3", "[0-9][0-9][0-9]", scan<match_three_digits>, Cuts::kNothing},
    {"numbers_3", R"(\p{N}{1,3})", scan<match_number<3>>, Cuts::kNothing},
    {"numbers", R"(\p{N}+)", scan<match_number<0>>, Cuts::kNothing},
    {"number", R"(\p{N})", scan<match_number<1>>, Cuts::kNothing},
    // \w+|[^\w\s]+ with \w as Unicode defines it, which PCRE2's is not.
    {"words",
     R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]+|[^\s\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]+)",
     scan<match_word_or_rest>, Cuts::kWords},
    {"space", R"(\s)", scan<match_one<is_space>>, Cuts::kNothing},
    {"punctuation", R"([!-/:-@\[-`{-~\p{P}])", scan<match_one<is_any_punctuation>>, Cuts::kNothing},
};

}  // namespace

std::span<const KnownPattern> known_patterns() {
  return kPatterns;
}

// A letter is never in one word with a line end, a comma or full stop of Chinese, or a space, which goes to the letter
// behind it.
bool is_certain_cut(std::string_view text, std::size_t pos) {
  if (pos == 0 || pos >= text.size()) return false;
  const bool may_begin = text[pos] == '\n' || (text[pos] == ' ' && is_letter_at(text, pos + 1)) ||
                         text.substr(pos).starts_with(kWideComma) || text.substr(pos).starts_with(kWideStop);
  return may_begin && is_letter_before(text, pos);
}

std::size_t next_certain_cut(std::string_view text, std::size_t pos) {
  while (pos < text.size() && !is_certain_cut(text, pos))
    ++pos;
  return std::min(pos, text.size());
}

const KnownPattern& known_pattern(std::string_view name) {
  const auto found = std::ranges::find(kPatterns, name, &KnownPattern::name);
  VT_CHECK(found != std::end(kPatterns), "unknown pattern name");
  return *found;
}

}  // namespace vitrine::tokenizer
