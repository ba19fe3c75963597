#include "tokenizer/merge_engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "tokenizer/flat_map.h"

namespace vitrine::tokenizer {
namespace {

// Up to here the scans are faster than the bookkeeping of the buckets.
constexpr std::size_t kMaxScanned = 64;
constexpr std::uint32_t kNoSymbol = std::numeric_limits<std::uint32_t>::max();

// The candidate pairs of one rank, by the position of their left symbol. Nearly all arrive in increasing order.
class Bucket {
 public:
  void add(std::uint32_t position) {
    if (in_order_.empty() || position >= in_order_.back()) return in_order_.push_back(position);
    late_.push_back(position);
    std::push_heap(late_.begin(), late_.end(), std::greater<>());
  }

  bool empty() const { return cursor_ == in_order_.size() && late_.empty(); }

  std::uint32_t take_leftmost() {
    const bool late_first = cursor_ == in_order_.size() || (!late_.empty() && late_.front() < in_order_[cursor_]);
    if (!late_first) return in_order_[cursor_++];
    std::pop_heap(late_.begin(), late_.end(), std::greater<>());
    const std::uint32_t position = late_.back();
    late_.pop_back();
    return position;
  }

  bool waits_in_heap = false;

 private:
  std::vector<std::uint32_t> in_order_;
  std::size_t cursor_ = 0;
  std::vector<std::uint32_t> late_;  // a heap
};

// Merging of one long piece. The symbols are a linked list over their array; every candidate pair waits in the bucket
// of its rank. Ranks are taken in increasing order from a heap that holds each rank once. A candidate that an earlier
// merge undid is known by its symbol's pair having another rank now.
template <typename Merges>
class RankBuckets {
 public:
  RankBuckets(const Merges& merges, std::vector<Symbol>& symbols) : merges_(merges), symbols_(symbols) {
    const auto num_symbols = static_cast<std::uint32_t>(symbols.size());
    next_.resize(num_symbols);
    previous_.resize(num_symbols);
    pair_.resize(num_symbols);
    for (std::uint32_t i = 0; i < num_symbols; ++i) {
      next_[i] = i + 1 < num_symbols ? i + 1 : kNoSymbol;
      previous_[i] = i > 0 ? i - 1 : kNoSymbol;
    }
    for (std::uint32_t i = 0; i < num_symbols; ++i)
      find_pair(i);
  }

  void run() {
    while (!ranks_.empty()) {
      std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
      const std::uint32_t rank = ranks_.back();
      ranks_.pop_back();
      work_off(rank, bucket_index(rank));
    }
    compact();
  }

 private:
  void find_pair(std::uint32_t left) {
    pair_[left] = next_[left] == kNoSymbol ? Merge{} : merges_.find(symbols_[left], symbols_[next_[left]]);
    if (pair_[left].merged < 0) return;
    Bucket& bucket = buckets_[bucket_index(pair_[left].rank)];
    bucket.add(left);
    if (!bucket.waits_in_heap) put_in_heap(pair_[left].rank, bucket);
  }

  void put_in_heap(std::uint32_t rank, Bucket& bucket) {
    bucket.waits_in_heap = true;
    ranks_.push_back(rank);
    std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
  }

  std::uint32_t bucket_index(std::uint32_t rank) {
    if (rank == last_rank_) return last_bucket_;
    const auto fresh = static_cast<std::uint32_t>(buckets_.size());
    last_bucket_ = bucket_of_rank_.insert(rank, fresh);
    last_rank_ = rank;
    if (last_bucket_ == fresh) buckets_.emplace_back();
    return last_bucket_;
  }

  void work_off(std::uint32_t rank, std::uint32_t index) {
    while (!buckets_[index].empty()) {
      const bool earlier_pair_appeared = !ranks_.empty() && ranks_.front() < rank;
      if (earlier_pair_appeared) return put_in_heap(rank, buckets_[index]);
      const std::uint32_t position = buckets_[index].take_leftmost();
      if (pair_[position].merged >= 0 && pair_[position].rank == rank) merge_at(position);
    }
    buckets_[index].waits_in_heap = false;
  }

  void merge_at(std::uint32_t left) {
    const std::uint32_t right = next_[left];
    symbols_[left] = {pair_[left].merged, symbols_[left].length + symbols_[right].length};
    next_[left] = next_[right];
    if (next_[right] != kNoSymbol) previous_[next_[right]] = left;
    pair_[right] = {};
    if (previous_[left] != kNoSymbol) find_pair(previous_[left]);
    find_pair(left);
  }

  void compact() {
    std::size_t num_kept = 0;
    for (std::uint32_t i = 0; i != kNoSymbol; i = next_[i])
      symbols_[num_kept++] = symbols_[i];
    symbols_.resize(num_kept);
  }

  const Merges& merges_;
  std::vector<Symbol>& symbols_;
  std::vector<std::uint32_t> next_, previous_;
  std::vector<Merge> pair_;  // of each symbol with its right neighbour
  std::vector<std::uint32_t> ranks_;
  FlatMap<std::uint32_t> bucket_of_rank_;
  std::vector<Bucket> buckets_;
  std::uint32_t last_rank_ = kNoSymbol;
  std::uint32_t last_bucket_ = 0;
};

std::vector<MergeTable::Pair> by_rank(std::span<const MergeTable::Pair> pairs) {
  std::uint32_t max_rank = 0;
  for (const MergeTable::Pair& pair : pairs)
    max_rank = std::max(max_rank, pair.merge.rank);
  std::vector<MergeTable::Pair> sorted(pairs.begin(), pairs.end());
  if (max_rank > 4 * pairs.size()) {
    std::ranges::stable_sort(sorted, {}, [](const MergeTable::Pair& pair) { return pair.merge.rank; });
    return sorted;
  }
  std::vector<std::uint32_t> begins(std::size_t{max_rank} + 2);
  for (const MergeTable::Pair& pair : pairs)
    ++begins[std::size_t{pair.merge.rank} + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  for (const MergeTable::Pair& pair : pairs)
    sorted[begins[pair.merge.rank]++] = pair;
  return sorted;
}

}  // namespace

MergeTable::MergeTable(std::size_t expected) {
  pairs_.reserve(expected);
  resize(std::bit_ceil(std::max<std::size_t>(16, expected + expected / 2)));
}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
  if (find({left, 0}, {right, 0}).merged >= 0) return;
  in_order_ = in_order_ && (pairs_.empty() || pairs_.back().merge.rank <= merge.rank);
  pairs_.push_back({left, right, merge});
  if (pairs_.size() * 4 > slots_.size() * 3) return resize(2 * slots_.size());
  enter(pairs_.back());
}

void MergeTable::enter(const Pair& pair) {
  const std::uint64_t hash = hash_of(pair.left, pair.right);
  filter_[filter_word(hash)] |= filter_bit(hash);
  std::size_t i = place_of(hash);
  while (slots_[i].merge.merged >= 0)
    i = (i + 1) & (slots_.size() - 1);
  slots_[i] = pair;
}

void MergeTable::resize(std::size_t num_slots) {
  slots_.assign(num_slots, {});
  filter_.assign(std::max<std::size_t>(1, num_slots * kFilterBits / 64), 0);
  shift_ = static_cast<unsigned>(64 - std::countr_zero(num_slots));
  for (const Pair& pair : pairs_)
    enter(pair);
}

std::span<const MergeTable::Pair> MergeTable::in_order(std::vector<Pair>& room) const {
  if (in_order_) return pairs_;
  room = by_rank(pairs_);
  return room;
}

template <typename Merges>
void apply_merges_by_scan(const Merges& merges, std::vector<Symbol>& symbols) {
  std::array<Merge, kMaxScanned> few;
  std::vector<Merge> many(symbols.size() > few.size() ? symbols.size() : 0);
  Merge* const pairs = many.empty() ? few.data() : many.data();
  std::size_t num_pairs = symbols.empty() ? 0 : symbols.size() - 1;
  for (std::size_t i = 0; i < num_pairs; ++i)
    pairs[i] = merges.find(symbols[i], symbols[i + 1]);
  while (num_pairs > 0) {
    std::size_t at = 0;
    for (std::size_t i = 1; i < num_pairs; ++i) {
      if (pairs[i].rank < pairs[at].rank) at = i;
    }
    if (pairs[at].merged < 0) break;
    symbols[at] = {pairs[at].merged, symbols[at].length + symbols[at + 1].length};
    std::copy(symbols.data() + at + 2, symbols.data() + num_pairs + 1, symbols.data() + at + 1);
    std::copy(pairs + at + 1, pairs + num_pairs, pairs + at);
    --num_pairs;
    if (at > 0) pairs[at - 1] = merges.find(symbols[at - 1], symbols[at]);
    if (at < num_pairs) pairs[at] = merges.find(symbols[at], symbols[at + 1]);
  }
  if (!symbols.empty()) symbols.resize(num_pairs + 1);
}

template <typename Merges>
void apply_merges_by_rank(const Merges& merges, std::vector<Symbol>& symbols) {
  if (!symbols.empty()) RankBuckets(merges, symbols).run();
}

template <typename Merges>
void apply_merges(const Merges& merges, std::vector<Symbol>& symbols) {
  if (symbols.size() <= kMaxScanned) return apply_merges_by_scan(merges, symbols);
  apply_merges_by_rank(merges, symbols);
}

template void apply_merges(const MergeTable&, std::vector<Symbol>&);
template void apply_merges(const PieceMerges&, std::vector<Symbol>&);
template void apply_merges_by_scan(const MergeTable&, std::vector<Symbol>&);
template void apply_merges_by_rank(const MergeTable&, std::vector<Symbol>&);

}  // namespace vitrine::tokenizer
