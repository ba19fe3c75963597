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
  // The same for a character that is spelled with more than itself: the bytes are those of the spelling.
  base::Result<void> append_spelled(std::string_view spelling, std::string_view character,
                                    std::vector<Symbol>& symbols) const;

 private:
  bool has_tokens_for(std::string_view bytes) const;
  base::Result<void> append_unknown(std::string_view character, std::size_t first, std::vector<Symbol>& symbols) const;

  UnknownSettings settings_;
  ByteIds bytes_{};  // all -1 without byte fallback
};

}  // namespace vitrine::tokenizer
