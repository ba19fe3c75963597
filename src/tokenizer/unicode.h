#pragma once

#include <cstdint>

#include "tokenizer/unicode_tables.h"

// Properties of code points (Unicode Character Database) as the splitter patterns name them: \p{L}, \s, \w ...
namespace vitrine::tokenizer {

enum class Category : std::uint8_t {
  kCn,
  kCc,
  kCf,
  kCo,
  kCs,
  kLl,
  kLm,
  kLo,
  kLt,
  kLu,
  kMc,
  kMe,
  kMn,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPe,
  kPf,
  kPi,
  kPo,
  kPs,
  kSc,
  kSk,
  kSm,
  kSo,
  kZl,
  kZp,
  kZs,
};

inline Category category(char32_t cp) {
  return static_cast<Category>(kCategoryOf[kCategoryBlock[cp >> 8]][cp & 255]);
}

constexpr bool between(Category value, Category first, Category last) {
  return value >= first && value <= last;
}

inline bool is_letter(char32_t cp) {
  return between(category(cp), Category::kLl, Category::kLu);
}
inline bool is_mark(char32_t cp) {
  return between(category(cp), Category::kMc, Category::kMn);
}
inline bool is_number(char32_t cp) {
  return between(category(cp), Category::kNd, Category::kNo);
}
inline bool is_punctuation(char32_t cp) {
  return between(category(cp), Category::kPc, Category::kPs);
}
inline bool is_symbol(char32_t cp) {
  return between(category(cp), Category::kSc, Category::kSo);
}

// The property White_Space.
inline bool is_space(char32_t cp) {
  if (cp < 0x80) return cp == ' ' || (cp >= '\t' && cp <= '\r');
  return cp == 0x85 || category(cp) >= Category::kZl;
}

// \w: Alphabetic, marks, decimal digits, connectors, join controls (Unicode TR18, annex C).
inline bool is_word(char32_t cp) {
  const Category c = category(cp);
  const bool other_alphabetic = (cp >= 0x24B6 && cp <= 0x24E9) || (cp >= 0x1F130 && cp <= 0x1F149) ||
                                (cp >= 0x1F150 && cp <= 0x1F169) || (cp >= 0x1F170 && cp <= 0x1F189);
  return between(c, Category::kLl, Category::kNl) || c == Category::kPc || cp == 0x200C || cp == 0x200D ||
         other_alphabetic;
}

}  // namespace vitrine::tokenizer
