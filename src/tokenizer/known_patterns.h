#pragma once

#include <span>
#include <string_view>

#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// A splitter pattern that published tokenizers use, and the scanner that finds the same matches in linear time.
struct KnownPattern {
  std::string_view name;
  std::string_view expression;
  ScanFunction scan;
};

std::span<const KnownPattern> known_patterns();

// The row of that name; aborts if there is none (names are ours).
const KnownPattern& known_pattern(std::string_view name);

}  // namespace vitrine::tokenizer
