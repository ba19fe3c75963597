#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/flat_map.h"
#include "tokenizer/model.h"
#include "tokenizer/unknown_characters.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// SentencePiece's BPE (arXiv 1808.06226). No file lists its merges: two neighbours merge where their joint text is a
// piece, the piece with the highest score first, at equal scores the leftmost. A character need not be a piece to
// merge.
class ScoredBpeModel : public Model {
 public:
  // scores: finite, one a token. makes: which tokens a merge may make, one a token. The vocabulary must outlive the
  // model.
  ScoredBpeModel(const Vocabulary& vocabulary, std::span<const float> scores, const std::vector<bool>& makes,
                 const UnknownCharacters& unknown);

  base::Result<void> encode(std::string_view piece, std::vector<Symbol>& scratch,
                            std::vector<Symbol>& out) const override;
  bool may_cut_before_space(char32_t previous) const override {
    return has_space_mark_ && !joined_to_space_.contains(previous);
  }
  bool cuts_before_spaces() const override { return has_space_mark_; }
  std::string_view kind() const override { return "BPE"; }

 private:
  void note_joins_to_space(std::string_view piece);
  bool is_symbol(std::string_view text) const;

  const Vocabulary& vocabulary_;
  std::vector<std::uint32_t> ranks_;  // by id
  UnknownCharacters unknown_;
  bool has_space_mark_;  // else a U+2581 becomes part of an unknown token that reaches across it
  FlatMap<char> joined_to_space_;
};

}  // namespace vitrine::tokenizer
