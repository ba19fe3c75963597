#include "tokenizer/bpe_matcher.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "base/check.h"
#include "tokenizer/byte_alphabet.h"

namespace vitrine::tokenizer {
namespace {

// Positions of a piece at which no encoding of it has a border.
class DeadEnds {
 public:
  explicit DeadEnds(std::size_t piece_bytes) { std::fill_n(bits_.begin(), piece_bytes / 64 + 1, 0); }
  bool contains(std::size_t pos) const { return (bits_[pos / 64] >> (pos % 64) & 1U) != 0; }
  void add(std::size_t pos) { bits_[pos / 64] |= std::uint64_t{1} << (pos % 64); }

 private:
  std::array<std::uint64_t, BpeMatcher::kMaxPieceBytes / 64 + 1> bits_;
};

// The tokens of a pair are fetched while so many pairs before it are looked at.
constexpr std::size_t kPairsAhead = 16;

// Bits by which most pairs that do not merge are known without a look at the merges, which fit no cache.
class PairFilter {
 public:
  explicit PairFilter(const std::vector<MergeTable::Pair>& pairs)
      : bits_(std::max<std::size_t>(1, std::bit_ceil(pairs.size() * kBitsPerPair) / 64)),
        shift_(static_cast<unsigned>(64 - std::countr_zero(bits_.size() * 64))) {
    for (const MergeTable::Pair& pair : pairs) {
      const std::uint64_t at = place_of(pair.left, pair.right);
      bits_[at / 64] |= std::uint64_t{1} << (at % 64);
    }
  }
  bool may_contain(TokenId left, TokenId right) const {
    const std::uint64_t at = place_of(left, right);
    return (bits_[at / 64] >> (at % 64) & 1U) != 0;
  }

 private:
  static constexpr std::size_t kBitsPerPair = 12;
  static constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio

  std::uint64_t place_of(TokenId left, TokenId right) const {
    const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    return key * kMultiplier >> shift_;
  }

  std::vector<std::uint64_t> bits_;
  unsigned shift_;
};

}  // namespace

BpeMatcher::BpeMatcher(const Source& source, std::size_t num_pairs)
    : tokens_(source.vocabulary.size()),
      pairs_(std::min(num_pairs, tokens_.size())),
      known_pairs_(std::size_t{1} << kKnownPairBits) {
  for (const TokenId id : source.byte_ids) {
    if (id >= 0) tokens_[static_cast<std::size_t>(id)] = {.made = 0, .length = 1};
  }
}

std::unique_ptr<BpeMatcher> BpeMatcher::build(const Source& source) {
  if (source.vocabulary.size() > static_cast<std::size_t>(std::min(PairTable::kMaxId, TokenTrie::kMaxId))) {
    return nullptr;
  }
  const std::vector<MergeTable::Pair> pairs = source.merges.in_order();
  std::unique_ptr<BpeMatcher> matcher(new BpeMatcher(source, pairs.size()));
  matcher->find_last_merges(source.merges, pairs);
  if (!matcher->knows_all_that_merges_make(source, pairs)) return nullptr;
  if (!matcher->fill_trie(source)) return nullptr;
  return matcher;
}

// Whether two tokens, each made of its own bytes, come to be without a merge across their border. Their merges are
// undone from the last to the first; of one time, what lies to the left was first.
// time_of(left, right): of their merge, kNever if they do not merge.
template <typename TimeOf>
bool BpeMatcher::came_to_stand(TokenId left, TokenId right, TimeOf time_of) const {
  for (;;) {
    const Token& l = token(left);
    const Token& r = token(right);
    if (l.made == 0 && r.made == 0) return true;
    const bool left_was_last = l.made > r.made;
    const std::uint32_t harmless_from = left_was_last ? l.harmless_from_left : r.harmless_from_right;
    if (left_was_last) {
      left = l.right;
    } else {
      right = r.left;
    }
    if (time_of(left, right) < harmless_from) return false;
  }
}

inline bool BpeMatcher::stay_apart(TokenId left, TokenId right) const {
  const std::uint64_t key =
      std::uint64_t{1} << 42 | static_cast<std::uint64_t>(left) << 21 | static_cast<std::uint64_t>(right);
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
  std::atomic<std::uint64_t>& known = known_pairs_[key * kMultiplier >> (64 - kKnownPairBits)];
  const std::uint64_t answer = known.load(std::memory_order_relaxed);
  if (answer >> 1 == key) return (answer & 1) != 0;
  const bool apart = find_apart(left, right);
  known.store(key << 1 | static_cast<std::uint64_t>(apart), std::memory_order_relaxed);
  return apart;
}

bool BpeMatcher::find_apart(TokenId left, TokenId right) const {
  if (pairs_.find(left, right) >= 0) return false;
  return came_to_stand(left, right, [this](TokenId l, TokenId r) {
    const TokenId joint = pairs_.find(l, r);
    return joint < 0 ? kNever : token(joint).time;
  });
}

// A token's last merge is the pair whose tokens come to stand beside each other without another merge across them. If
// a vocabulary lists more pairs for a token, those never meet. A part may come later than the pair's rank says: then
// the pair merges as soon as the part is there.
void BpeMatcher::find_last_merges(const MergeTable& merges, const std::vector<MergeTable::Pair>& pairs) {
  const PairFilter filter(pairs);
  const auto time_of = [&](TokenId left, TokenId right) {
    if (!filter.may_contain(left, right)) return kNever;
    const Merge merge = merges.find({left, 0}, {right, 0});
    return merge.merged < 0 ? kNever : merge.rank + 1;
  };
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (i + kPairsAhead < pairs.size()) prefetch(pairs[i + kPairsAhead]);
      const MergeTable::Pair& pair = pairs[i];
      Token& merged = tokens_[static_cast<std::size_t>(pair.merge.merged)];
      if (merged.made != kNever || !is_made(pair.left) || !is_made(pair.right)) continue;
      if (!came_to_stand(pair.left, pair.right, time_of)) continue;
      merged = merge_of(pair);
      pairs_.insert(pair.left, pair.right, pair.merge.merged);
      found = true;
    }
  }
}

// While two tokens stood at a border, the latest time that came was that of the merge which ended it, or of that
// merge's other part where it came to be in the meantime. A pair across the border of an earlier time would have
// merged; one of the same time too, if the merge that ended it lay to its right.
BpeMatcher::Token BpeMatcher::merge_of(const MergeTable::Pair& pair) const {
  const Token& left = token(pair.left);
  const Token& right = token(pair.right);
  const std::uint32_t time = pair.merge.rank + 1;
  const std::uint32_t made = std::max({time, left.made, right.made});
  return {.left = pair.left,
          .right = pair.right,
          .time = time,
          .made = made,
          .harmless_from_left = left.made > right.made ? made : time,
          .harmless_from_right = (right.made >= left.made ? made : time) + 1,
          .length = left.length + right.length};
}

// A token for which no last merge was found must be out of reach of the merges themselves.
bool BpeMatcher::knows_all_that_merges_make(const Source& source, const std::vector<MergeTable::Pair>& pairs) const {
  std::vector<Symbol> symbols;
  for (const MergeTable::Pair& pair : pairs) {
    if (is_made(pair.merge.merged)) continue;
    const auto bytes = bytes_of_spelling(source.vocabulary.piece(pair.merge.merged));
    if (!bytes) return false;
    symbols.clear();
    for (const char byte : *bytes)
      symbols.push_back({source.byte_ids[static_cast<unsigned char>(byte)], 1});
    apply_merges(source.merges, symbols);
    if (symbols.size() == 1) return false;
  }
  return true;
}

bool BpeMatcher::fill_trie(const Source& source) {
  // Room for all, so that what refers to it stays where it is.
  std::string bytes;
  bytes.reserve(source.vocabulary.num_bytes());
  std::vector<TokenTrie::Entry> entries;
  entries.reserve(tokens_.size());
  for (TokenId id = 0; static_cast<std::size_t>(id) < tokens_.size(); ++id) {
    if (!is_made(id) && !source.take_whole) continue;
    // What the vocabulary's own lookup does not lead to (a special token) is never a piece's token.
    if (!source.vocabulary.is_listed(id)) continue;
    const std::size_t begin = bytes.size();
    if (!append_bytes_of_spelling(source.vocabulary.piece(id), bytes) || bytes.size() == begin) continue;
    entries.push_back({std::string_view(bytes).substr(begin), id, is_made(id)});
  }
  return trie_.build(std::move(entries));
}

bool BpeMatcher::encode(std::string_view piece, std::vector<Symbol>& out) const {
  const TokenTrie::Match start = trie_.match(piece);
  if (start.whole >= 0) {
    out.push_back({start.whole, static_cast<std::uint32_t>(piece.size())});
    return true;
  }
  DeadEnds dead_ends(piece.size());
  const std::size_t first = out.size();
  TokenId candidate = start.longest;
  for (std::size_t pos = 0; pos < piece.size();) {
    if (candidate < 0) {
      out.resize(first);
      return false;
    }
    const std::uint32_t length = token(candidate).length;
    const bool stands = !dead_ends.contains(pos + length) && (pos == 0 || stay_apart(out.back().id, candidate));
    if (stands) {
      out.push_back({candidate, length});
      pos += length;
      if (pos < piece.size()) candidate = trie_.match(piece.substr(pos)).longest;
      continue;
    }
    candidate = trie_.shorter(candidate);
    while (candidate < 0) {
      VT_CHECK(out.size() > first, "every text of bytes has an encoding");
      dead_ends.add(pos);
      pos -= out.back().length;
      candidate = trie_.shorter(out.back().id);
      out.pop_back();
    }
  }
  return true;
}

}  // namespace vitrine::tokenizer
