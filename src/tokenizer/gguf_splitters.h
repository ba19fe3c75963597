#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// What a name in tokenizer.ggml.pre stands for.
struct GgufSplitter {
  std::string_view name;
  // Names of known_patterns(), or regular expressions (Oniguruma's), applied one after another, each to the pieces that
  // the one before left.
  std::array<std::string_view, 6> patterns;
  bool ignores_merges = false;  // a piece that is a token is taken without merging
  bool adds_bos = false;        // unless the file says otherwise
  bool normalizes = false;      // to NFC, as the model's own tokenizer.json asks for
};

std::span<const GgufSplitter> gguf_splitters();

// nullptr where there is none of that name. A file without the key has the one named "default".
const GgufSplitter* find_gguf_splitter(std::string_view name);

// One of a splitter's patterns.
std::unique_ptr<Pattern> splitter_pattern(std::string_view pattern);

}  // namespace vitrine::tokenizer
