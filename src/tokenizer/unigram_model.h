#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "tokenizer/model.h"
#include "tokenizer/unknown_characters.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// A unigram language model over pieces: a text is cut so that the sum of the scores is largest (Kudo, arXiv
// 1804.10959).
class UnigramModel : public Model {
 public:
  // The score of a piece that is never chosen: of control pieces and the like.
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  // `scores` by id; the vocabulary must outlive the model. Neighbouring unknown characters are one to `unknown`.
  UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, const UnknownCharacters& unknown);

  base::Result<void> encode(std::string_view piece, std::vector<Symbol>& scratch,
                            std::vector<Symbol>& out) const override;
  std::string_view kind() const override { return "Unigram"; }

 private:
  // The best way to a byte position: its score, and the token that it ends with.
  struct Step {
    double score = 0;
    Symbol last;
    bool reached = false;
  };

  void try_pieces_at(std::string_view text, std::size_t start, std::vector<Step>& steps) const;

  std::vector<double> scores_;
  double unknown_score_ = 0;
  UnknownCharacters unknown_;
  // A trie of the pieces: edges from (node, byte) to nodes, and for each node the id of the piece that ends there.
  FlatMap<std::uint32_t> edges_;
  std::vector<TokenId> id_at_node_ = {-1};
};

}  // namespace vitrine::tokenizer
