#include "tokenizer/bpe_matcher.h"

#include <algorithm>
#include <array>
#include <future>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

// Pairs whose time has come, the shortest first, and those that wait for a part.
class PairsInTime {
 public:
  PairsInTime(const Vocabulary& vocabulary, std::span<const MergeTable::Pair> pairs)
      : vocabulary_(vocabulary), pairs_(pairs), first_waiting_(vocabulary.size(), kNone) {}

  void add(std::uint32_t index) {
    due_.push_back(index);
    if (due_.size() > 1) std::push_heap(due_.begin(), due_.end(), Longer{*this});
  }
  // nullptr where none is left.
  const MergeTable::Pair* take() {
    if (due_.empty()) return nullptr;
    if (due_.size() > 1) std::pop_heap(due_.begin(), due_.end(), Longer{*this});
    const std::uint32_t index = due_.back();
    due_.pop_back();
    return &pairs_[index];
  }
  void wait_for(TokenId part, const MergeTable::Pair& pair) {
    std::uint32_t& first = first_waiting_[static_cast<std::size_t>(part)];
    waiting_.push_back({static_cast<std::uint32_t>(&pair - pairs_.data()), first});
    first = static_cast<std::uint32_t>(waiting_.size() - 1);
  }
  void add_what_waits_for(TokenId part) {
    std::uint32_t i = std::exchange(first_waiting_[static_cast<std::size_t>(part)], kNone);
    for (; i != kNone; i = waiting_[i].next)
      add(waiting_[i].index);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Waiting {
    std::uint32_t index;  // of the pair
    std::uint32_t next;
  };

  std::size_t length(std::uint32_t index) const { return vocabulary_.piece(pairs_[index].merge.merged).size(); }
  struct Longer {
    const PairsInTime& pairs;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return pairs.length(a) > pairs.length(b); }
  };

  const Vocabulary& vocabulary_;
  std::span<const MergeTable::Pair> pairs_;
  std::vector<std::uint32_t> due_;            // a heap
  std::vector<std::uint32_t> first_waiting_;  // by the part
  std::vector<Waiting> waiting_;
};

}  // namespace

BpeMatcher::BpeMatcher(const Source& source, std::size_t num_pairs)
    : take_whole_(source.take_whole), tokens_(source.vocabulary.size()), pairs_(std::min(num_pairs, tokens_.size())) {
  for (const TokenId id : source.byte_ids) {
    if (id >= 0) tokens_[static_cast<std::size_t>(id)] = {.made = 0};
  }
}

std::unique_ptr<BpeMatcher> BpeMatcher::build(const Source& source) {
  constexpr TokenId kMaxId = std::min({PairTable::kMaxId, TokenTrie::kMaxId, KnownPairs::kMaxId});
  if (source.vocabulary.size() > static_cast<std::size_t>(kMaxId)) return nullptr;
  std::vector<MergeTable::Pair> room;
  const std::span<const MergeTable::Pair> pairs = source.merges.in_order(room);
  if (!pairs.empty() && pairs.back().merge.rank + std::uint64_t{1} >= kNever) return nullptr;
  std::unique_ptr<BpeMatcher> matcher(new BpeMatcher(source, pairs.size()));
  // Two halves that need nothing of each other; where no thread is to be had, one after the other.
  auto filled = std::async(std::launch::async | std::launch::deferred, [&] { return matcher->fill_trie(source); });
  matcher->find_last_merges(source.vocabulary, pairs);
  const bool knows_all = matcher->knows_all_that_merges_make(source, pairs);
  if (!filled.get() || !knows_all) return nullptr;
  return matcher;
}

// Undoes the last merge of two neighbours, each made of its own bytes; of one time, what lies to the left was first.
// The answer: from which time on a merge across the border would have come too late, 0 for two bytes.
inline std::uint32_t BpeMatcher::undo(TokenId& left, TokenId& right) const {
  const Token& l = token(left);
  const Token& r = token(right);
  if (l.made == 0 && r.made == 0) return 0;
  if (l.made > r.made) {
    left = l.right;
    return l.harmless_from_left();
  }
  right = r.left;
  return r.harmless_from_right();
}

inline bool BpeMatcher::stay_apart(TokenId left, TokenId right) const {
  if (const auto known = known_pairs_.find(left, right)) return *known;
  const bool apart = find_apart(left, right);
  known_pairs_.keep(left, right, apart);
  return apart;
}

// Whether two tokens come to be, beside each other, without a merge across their border.
bool BpeMatcher::come_to_stand(TokenId left, TokenId right) const {
  while (const std::uint32_t harmless_from = undo(left, right)) {
    if (pairs_.find(left, right) < harmless_from) return false;
  }
  return true;
}

bool BpeMatcher::find_apart(TokenId left, TokenId right) const {
  return is_made(left) && is_made(right) && pairs_.find(left, right) == kNever && come_to_stand(left, right);
}

// A token's last merge is the pair whose tokens come to stand beside each other without another merge across them. If
// a vocabulary lists more pairs for a token, those never meet. A part may come later than the pair's rank says: then
// the pair merges as soon as the part is there. In this order, at one time the shorter first, all last merges that
// could matter to a pair are found before it; what is no last merge never stands at a border.
void BpeMatcher::find_last_merges(const Vocabulary& vocabulary, std::span<const MergeTable::Pair> pairs) {
  PairsInTime in_time(vocabulary, pairs);
  for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
    for (; end < pairs.size() && pairs[end].merge.rank == pairs[begin].merge.rank; ++end) {
      if (end + kPairsAhead < pairs.size()) prefetch(pairs[end + kPairsAhead]);
      in_time.add(static_cast<std::uint32_t>(end));
    }
    while (const MergeTable::Pair* pair = in_time.take()) {
      if (is_made(pair->merge.merged)) continue;
      if (!is_made(pair->left)) {
        in_time.wait_for(pair->left, *pair);
      } else if (!is_made(pair->right)) {
        in_time.wait_for(pair->right, *pair);
      } else if (come_to_stand(pair->left, pair->right)) {
        set_merge(*pair);
        in_time.add_what_waits_for(pair->merge.merged);
      }
    }
  }
}

// While two tokens stood at a border, the latest time that came was that of the merge which ended it, or of that
// merge's other part where it came to be in the meantime. A pair across the border of an earlier time would have
// merged; one of the same time too, if the merge that ended it lay to its right.
void BpeMatcher::set_merge(const MergeTable::Pair& pair) {
  const std::uint32_t left_made = token(pair.left).made;
  const std::uint32_t right_made = token(pair.right).made;
  const std::uint32_t time = pair.merge.rank + 1;
  tokens_[static_cast<std::size_t>(pair.merge.merged)] = {.left = pair.left,
                                                          .right = pair.right,
                                                          .time = time,
                                                          .made = std::max({time, left_made, right_made}) & kNever,
                                                          .left_came_last = left_made > right_made};
  pairs_.insert(pair.left, pair.right, time);
}

// A token for which no last merge was found must be out of reach of the merges themselves.
bool BpeMatcher::knows_all_that_merges_make(const Source& source, std::span<const MergeTable::Pair> pairs) const {
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

// Tokens that no merge makes are there too, to be taken whole; beside others they never stay.
bool BpeMatcher::fill_trie(const Source& source) {
  const Vocabulary& vocabulary = source.vocabulary;
  std::string bytes;
  bytes.reserve(vocabulary.bytes().size() + TokenTrie::kPadding);
  std::vector<TokenTrie::Entry> entries;
  entries.reserve(vocabulary.size());
  const auto is_no_token = [&](char byte) { return source.byte_ids[static_cast<unsigned char>(byte)] < 0; };
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary.size(); ++id) {
    // What the vocabulary's own lookup does not lead to (a special token) is never a piece's token.
    if (!vocabulary.is_listed(id)) continue;
    const std::size_t begin = bytes.size();
    if (!append_bytes_of_spelling(vocabulary.piece(id), bytes) || bytes.size() == begin) continue;
    if (std::ranges::any_of(std::string_view(bytes).substr(begin), is_no_token)) continue;
    entries.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(bytes.size() - begin), id});
  }
  bytes.append(TokenTrie::kPadding, '\0');
  return trie_.build(bytes, entries);
}

bool BpeMatcher::encode(std::string_view piece, bool take_whole, std::vector<Symbol>& scratch,
                        std::vector<Symbol>& out) const {
  scratch.clear();
  if (!take_longest(piece, scratch)) return false;
  if (scratch.size() == 1 && (take_whole || is_made(scratch[0].id))) {
    out.push_back(scratch[0]);
  } else {
    take_back(piece, scratch, out);
  }
  return true;
}

// The longest token at each border, with no look at what stands beside it: so nothing waits for memory but the walk
// itself, and what is looked up next is fetched meanwhile.
inline bool BpeMatcher::take_longest(std::string_view piece, std::vector<Symbol>& tokens) const {
  for (std::size_t pos = 0; pos < piece.size();) {
    const TokenTrie::Match match = trie_.longest(piece.substr(pos));
    if (match.id < 0) return false;
    if (pos > 0) known_pairs_.prefetch(tokens.back().id, match.id);
    __builtin_prefetch(&token(match.id));
    tokens.push_back({match.id, match.length});
    pos += match.length;
  }
  return true;
}

// longest: of the whole piece, each the longest where it begins.
void BpeMatcher::take_back(std::string_view piece, std::span<const Symbol> longest, std::vector<Symbol>& out) const {
  DeadEnds dead_ends(piece.size());
  const std::size_t first = out.size();
  std::size_t next_longest = 0, longest_pos = 0;
  TokenTrie::Match candidate = {longest[0].id, longest[0].length};
  for (std::size_t pos = 0; pos < piece.size();) {
    const bool stands = !dead_ends.contains(pos + candidate.length) &&
                        (pos == 0 ? is_made(candidate.id) : stay_apart(out.back().id, candidate.id));
    if (stands) {
      out.push_back({candidate.id, candidate.length});
      pos += candidate.length;
      while (longest_pos < pos)
        longest_pos += longest[next_longest++].length;
      if (pos == piece.size()) return;
      if (longest_pos == pos) {
        candidate = {longest[next_longest].id, longest[next_longest].length};
      } else {
        candidate = trie_.longest(piece.substr(pos));
      }
      continue;
    }
    candidate = trie_.shorter(candidate.id);
    while (candidate.id < 0) {
      VT_CHECK(out.size() > first, "every text of bytes has an encoding");
      dead_ends.add(pos);
      pos -= out.back().length;
      candidate = trie_.shorter(out.back().id);
      out.pop_back();
    }
  }
}

}  // namespace vitrine::tokenizer
