#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// How a WordPiece vocabulary spells its pieces.
struct WordPieceSettings {
  std::string start_prefix;          // before the piece that begins a word; "" in tokenizer.json, U+2581 in GGUF files
  std::string continuation_prefix;   // before the others; "##" in tokenizer.json, "" in GGUF files
  std::size_t max_word_chars = 100;  // a longer word is unknown as a whole
  TokenId unknown = -1;
};

// WordPiece as BERT has it (Wu et al., arXiv 1609.08144): a word is cut from the left, each time the longest piece of
// the vocabulary; a word for which that comes to no end is unknown as a whole.
class WordPieceModel : public Model {
 public:
  // The vocabulary must outlive the model.
  WordPieceModel(const Vocabulary& vocabulary, WordPieceSettings settings)
      : vocabulary_(vocabulary), settings_(std::move(settings)) {}

  base::Result<void> encode(std::string_view word, std::vector<Symbol>& scratch,
                            std::vector<Symbol>& out) const override;
  std::string_view kind() const override { return "WordPiece"; }

 private:
  Symbol longest_piece(std::string_view rest, bool is_start) const;

  const Vocabulary& vocabulary_;
  WordPieceSettings settings_;
};

}  // namespace vitrine::tokenizer
