#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/normalizer.h"

namespace vitrine::tokenizer {

// SentencePiece's table of characters and what they become (precompiled_charsmap): a double array trie over the UTF-8
// of what is replaced, whose values are places in a list of texts that end with a zero byte. Immutable.
class CharacterMap {
 public:
  struct Match {
    std::size_t length = 0;  // bytes of the text
    std::string_view replacement;
  };

  // Fails with kBadFile. A table that leads out of its own bounds is no failure: such a way matches nothing.
  static base::Result<CharacterMap> read(std::string_view blob);

  // What `text` begins with; the longest match, or the shortest.
  std::optional<Match> longest(std::string_view text) const;
  std::optional<Match> shortest(std::string_view text) const;

 private:
  // Calls `take` for every match from the shortest on, until it answers false.
  template <typename Take>
  void walk(std::string_view text, Take take) const;
  std::optional<std::string_view> text_at(std::uint32_t offset) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

// Replaces the longest match at every place, as SentencePiece does.
std::unique_ptr<NormalizerStep> make_character_map(CharacterMap map);
// Replaces as Hugging Face's tokenizers do: a grapheme of up to five bytes that begins with a match as a whole, by its
// shortest one; in the others every character.
std::unique_ptr<NormalizerStep> make_grapheme_map(CharacterMap map);

}  // namespace vitrine::tokenizer
