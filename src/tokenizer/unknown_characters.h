#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge_engine.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// The token of every byte value, -1 where the vocabulary has none.
using ByteIds = std::array<TokenId, 256>;

struct UnknownSettings {
  bool byte_fallback = false;  // an unknown character becomes the tokens of its bytes, "<0x0A>"
  bool fuse = false;           // neighbouring unknown characters become one unknown token
  std::optional<TokenId> unknown;
};

// What becomes of a character that is no token: its bytes' tokens, else the unknown token, else an error.
class UnknownCharacters {
 public:
  UnknownCharacters(const Vocabulary& vocabulary, const UnknownSettings& settings);

  // Appends to `symbols`, of which those before index `first` belong to other text and are left alone.
  base::Result<void> append(std::string_view character, std::size_t first, std::vector<Symbol>& symbols) const;

 private:
  UnknownSettings settings_;
  ByteIds bytes_{};  // all -1 without byte fallback
};

}  // namespace vitrine::tokenizer
