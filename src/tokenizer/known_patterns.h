#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// A splitter pattern that published tokenizers use, and the scanner that finds the same matches in linear time.
struct KnownPattern {
  std::string_view name;
  std::string_view expression;
  ScanFunction scan;
  Cuts cuts;
  bool covers_all = false;  // every character of a text is in a match
};

std::span<const KnownPattern> known_patterns();

// A place where no word of text goes on: what is before and behind it can be split one without the other. `cuts` of a
// row says what its pattern makes of such places. The text need not be valid UTF-8.
bool is_certain_cut(std::string_view text, std::size_t pos);
// The first such place from `pos` on, or the text's end.
std::size_t next_certain_cut(std::string_view text, std::size_t pos);

// The row of that name; aborts if there is none (names are ours).
const KnownPattern& known_pattern(std::string_view name);

}  // namespace vitrine::tokenizer
