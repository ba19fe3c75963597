#include "tokenizer/wordpiece_model.h"

#include <algorithm>

#include "base/utf8.h"

namespace vitrine::tokenizer {

// The longest piece that `rest` begins with; no id where there is none.
Symbol WordPieceModel::longest_piece(std::string_view rest, bool is_start) const {
  const std::string& prefix = is_start ? settings_.start_prefix : settings_.continuation_prefix;
  if (prefix.size() > vocabulary_.max_piece_bytes()) return {};
  const std::size_t longest = std::min(rest.size(), vocabulary_.max_piece_bytes() - prefix.size());
  std::string piece = prefix;
  piece += rest.substr(0, longest);
  for (std::size_t length = longest; length > 0; --length) {
    piece.resize(prefix.size() + length);
    if (length < rest.size() && base::is_continuation(rest[length])) continue;
    if (const auto id = vocabulary_.find(piece)) return {*id, static_cast<std::uint32_t>(length)};
  }
  return {};
}

base::Result<void> WordPieceModel::encode(std::string_view word, std::vector<Symbol>& scratch,
                                          std::vector<Symbol>& out) const {
  const Symbol unknown{settings_.unknown, static_cast<std::uint32_t>(word.size())};
  const auto num_chars =
      static_cast<std::size_t>(std::ranges::count_if(word, [](char c) { return !base::is_continuation(c); }));
  scratch.clear();
  for (std::size_t at = 0; at < word.size();) {
    const Symbol piece = num_chars > settings_.max_word_chars ? Symbol{} : longest_piece(word.substr(at), at == 0);
    if (piece.id < 0) {
      out.push_back(unknown);
      return {};
    }
    scratch.push_back(piece);
    at += piece.length;
  }
  out.insert(out.end(), scratch.begin(), scratch.end());
  return {};
}

}  // namespace vitrine::tokenizer
