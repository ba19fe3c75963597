#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/unknown_characters.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// A vocabulary of whole words, looked up as they stand.
class WordLevelModel : public Model {
 public:
  // The words of a piece of text.
  enum class Words {
    kPiece,        // it is one
    kSpaceMarked,  // every U+2581 begins one (SentencePiece, WORD)
    kCharacters,   // every character is one (SentencePiece, CHAR)
  };

  // The vocabulary must outlive the model.
  WordLevelModel(const Vocabulary& vocabulary, Words words, const UnknownCharacters& unknown)
      : vocabulary_(vocabulary), words_(words), unknown_(unknown) {}

  base::Result<void> encode(std::string_view piece, std::vector<Symbol>& scratch,
                            std::vector<Symbol>& out) const override;
  std::string_view kind() const override { return words_ == Words::kCharacters ? "characters" : "words"; }

 private:
  std::size_t end_of_word(std::string_view rest) const;

  const Vocabulary& vocabulary_;
  Words words_;
  UnknownCharacters unknown_;
};

}  // namespace vitrine::tokenizer
