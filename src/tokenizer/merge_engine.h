#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/flat_map.h"

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
  const Merge* find(TokenId left, TokenId right) const { return merges_.find(key(left, right)); }
  std::size_t size() const { return merges_.size(); }

 private:
  static std::uint64_t key(TokenId left, TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
  }

  FlatMap<Merge> merges_;
};

// Applies merges to `symbols` until none applies: always the lowest rank, at equal rank the leftmost (Sennrich et al.,
// arXiv 1508.07909). Short pieces by repeated scans, long ones in O(n log n) by buckets of equal rank.
void apply_merges(const MergeTable& merges, std::vector<Symbol>& symbols);

// The two ways behind apply_merges; the tests hold them against each other.
void apply_merges_by_scan(const MergeTable& merges, std::vector<Symbol>& symbols);
void apply_merges_by_rank(const MergeTable& merges, std::vector<Symbol>& symbols);

}  // namespace vitrine::tokenizer
