#include "tokenizer/wordlevel_model.h"

#include <algorithm>

#include "base/utf8.h"

namespace vitrine::tokenizer {

// Of the word that `rest`, which is not empty, begins with.
std::size_t WordLevelModel::end_of_word(std::string_view rest) const {
  if (words_ == Words::kCharacters) return base::utf8_length(rest[0]);
  if (words_ == Words::kSpaceMarked) return std::min(rest.find(kSpaceMark, 1), rest.size());
  return rest.size();
}

base::Result<void> WordLevelModel::encode(std::string_view piece, std::vector<Symbol>& /*scratch*/,
                                          std::vector<Symbol>& out) const {
  const std::size_t first = out.size();
  while (!piece.empty()) {
    const std::string_view word = piece.substr(0, end_of_word(piece));
    if (const auto id = vocabulary_.find(word)) {
      out.push_back({*id, static_cast<std::uint32_t>(word.size())});
    } else if (auto done = unknown_.append(word, first, out); !done) {
      return done;
    }
    piece.remove_prefix(word.size());
  }
  return {};
}

}  // namespace vitrine::tokenizer
