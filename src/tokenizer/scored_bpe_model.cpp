#include "tokenizer/scored_bpe_model.h"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "base/utf8.h"
#include "tokenizer/bpe_model.h"

namespace vitrine::tokenizer {
namespace {

// Finite scores as ranks that fall as they rise, equal for equal scores: the bits of a float order as an integer's once
// those of the negative ones are turned over.
std::uint32_t rank_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // the sum takes the sign from a zero
  const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return ~ordered;
}

}  // namespace

ScoredBpeModel::ScoredBpeModel(const Vocabulary& vocabulary, std::span<const float> scores,
                               const std::vector<bool>& makes, const UnknownCharacters& unknown)
    : vocabulary_(vocabulary),
      ranks_(scores.size(), PieceMerges::kNeverMade),
      unknown_(unknown),
      has_space_mark_(vocabulary.find(kSpaceMark).has_value()) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!makes[i]) continue;
    ranks_[i] = rank_of(scores[i]);
    note_joins_to_space(vocabulary.piece(static_cast<TokenId>(i)));
  }
}

// A piece with a space mark inside may come from a merge across that place.
void ScoredBpeModel::note_joins_to_space(std::string_view piece) {
  std::size_t at = piece.find(kSpaceMark, 1);
  if (at == std::string_view::npos || !base::is_valid_utf8(piece)) return;
  for (; at != std::string_view::npos; at = piece.find(kSpaceMark, at + kSpaceMark.size())) {
    const NamedMerge merge{piece.substr(0, at), piece.substr(at)};
    if (is_symbol(merge.left) && is_symbol(merge.right)) note_join_to_space(merge, joined_to_space_);
  }
}

bool ScoredBpeModel::is_symbol(std::string_view text) const {
  return vocabulary_.find(text) || text.size() == base::utf8_length(text[0]);
}

base::Result<void> ScoredBpeModel::encode(std::string_view piece, std::vector<Symbol>& scratch,
                                          std::vector<Symbol>& out) const {
  if (piece.size() > static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    return base::usage_error(fmt::format("{} bytes of text in one piece; 2 GiB is the most", piece.size()));
  }
  scratch.clear();
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t length = base::utf8_length(piece[at]);
    scratch.push_back({static_cast<TokenId>(at), static_cast<std::uint32_t>(length)});
    at += length;
  }
  apply_merges(PieceMerges(piece, vocabulary_, ranks_), scratch);
  const std::size_t first = out.size();
  for (const Symbol& symbol : scratch) {
    const std::string_view text = piece.substr(static_cast<std::size_t>(symbol.id), symbol.length);
    if (const auto id = vocabulary_.find(text)) {
      out.push_back({*id, symbol.length});
    } else if (auto done = unknown_.append(text, first, out); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace vitrine::tokenizer
