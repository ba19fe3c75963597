#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/flat_map.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// A token with the number of bytes of the encoded text that it covers.
struct Symbol {
  TokenId id = -1;
  std::uint32_t length = 0;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

// What becomes of two neighbours: the token they merge into, and the rank of the merge (lower ranks merge first).
struct Merge {
  std::uint32_t rank = std::numeric_limits<std::uint32_t>::max();
  TokenId merged = -1;
};

// All merges of a vocabulary, by the pair they join.
class MergeTable {
 public:
  explicit MergeTable(std::size_t expected = 0) : merges_(expected) {}

  // Keeps the first rank given for a pair.
  void insert(TokenId left, TokenId right, Merge merge) { merges_.insert(key(left, right), merge); }
  Merge find(const Symbol& left, const Symbol& right) const {
    const Merge* merge = merges_.find(key(left.id, right.id));
    return merge != nullptr ? *merge : Merge{};
  }
  std::size_t size() const { return merges_.size(); }

  struct Pair {
    TokenId left, right;
    Merge merge;
  };
  // All pairs, the lowest rank first.
  std::vector<Pair> in_order() const;

 private:
  static std::uint64_t key(TokenId left, TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
  }

  FlatMap<Merge> merges_;
};

// The merges of one text where no table lists them: two neighbours merge if their joint text is a piece, the lower rank
// first. The id of a symbol is here the place of its first byte in the text. Nothing is owned.
class PieceMerges {
 public:
  static constexpr std::uint32_t kNeverMade = Merge{}.rank;

  // ranks: by id; kNeverMade for a piece that no merge makes.
  PieceMerges(std::string_view text, const Vocabulary& vocabulary, std::span<const std::uint32_t> ranks)
      : text_(text), vocabulary_(vocabulary), ranks_(ranks) {}

  Merge find(const Symbol& left, const Symbol& right) const {
    const std::size_t length = std::size_t{left.length} + right.length;
    if (length > vocabulary_.max_piece_bytes()) return {};
    const auto id = vocabulary_.find(text_.substr(static_cast<std::size_t>(left.id), length));
    if (!id || ranks_[static_cast<std::size_t>(*id)] == kNeverMade) return {};
    return {ranks_[static_cast<std::size_t>(*id)], left.id};
  }

 private:
  std::string_view text_;
  const Vocabulary& vocabulary_;
  std::span<const std::uint32_t> ranks_;
};

// Applies merges to `symbols` until none applies: always the lowest rank, at equal rank the leftmost (Sennrich et al.,
// arXiv 1508.07909). Short pieces by repeated scans, long ones in O(n log n) by buckets of equal rank.
// Merges: MergeTable or PieceMerges.
template <typename Merges>
void apply_merges(const Merges& merges, std::vector<Symbol>& symbols);

// The two ways behind apply_merges; the tests hold them against each other.
template <typename Merges>
void apply_merges_by_scan(const Merges& merges, std::vector<Symbol>& symbols);
template <typename Merges>
void apply_merges_by_rank(const Merges& merges, std::vector<Symbol>& symbols);

}  // namespace vitrine::tokenizer
