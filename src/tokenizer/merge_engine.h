#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "base/token_id.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_hash.h"

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

// All merges of a vocabulary, by the pair they join: as they came, and by the hash of the pair. Most pairs asked for do
// not merge; a filter of bits, which fits a processor's nearer caches, answers for nearly all of those.
class MergeTable {
 public:
  struct Pair {
    TokenId left = -1, right = -1;
    Merge merge;
  };

  explicit MergeTable(std::size_t expected = 0);

  // Keeps the first rank given for a pair.
  void insert(TokenId left, TokenId right, Merge merge);
  Merge find(const Symbol& left, const Symbol& right) const {
    const std::uint64_t hash = hash_of(left.id, right.id);
    if ((filter_[filter_word(hash)] & filter_bit(hash)) == 0) return {};
    for (std::size_t i = place_of(hash); slots_[i].merge.merged >= 0; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].left == left.id && slots_[i].right == right.id) return slots_[i].merge;
    }
    return {};
  }
  // Begins to load what insert() will look at.
  void prefetch(TokenId left, TokenId right) const {
    const std::uint64_t hash = hash_of(left, right);
    __builtin_prefetch(&slots_[place_of(hash)], 1);
    __builtin_prefetch(&filter_[filter_word(hash)], 1);
  }
  std::size_t size() const { return pairs_.size(); }

  // All pairs, the lowest rank first; `room` is where they are put if they did not come so.
  std::span<const Pair> in_order(std::vector<Pair>& room) const;

 private:
  static constexpr std::size_t kFilterBits = 8;  // per place: filter_bit knows
  static std::uint64_t hash_of(TokenId left, TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right)) *
           kHashMultiplier;
  }
  std::uint64_t filter_bit(std::uint64_t hash) const { return std::uint64_t{1} << (hash >> (shift_ - 3) & 63); }
  std::size_t place_of(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> shift_); }
  std::size_t filter_word(std::uint64_t hash) const { return place_of(hash) / (64 / kFilterBits); }
  void enter(const Pair& pair);
  void resize(std::size_t num_slots);

  base::PageVector<Pair> pairs_;  // in the order in which they came
  base::PageVector<Pair> slots_;  // by their hash; one whose merge makes nothing is free
  base::PageVector<std::uint64_t> filter_;
  unsigned shift_ = 0;
  bool in_order_ = true;
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
