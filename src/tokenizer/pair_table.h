#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/page_buffer.h"
#include "base/token_id.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

// When two tokens merge, eight bytes a pair: tables of merges do not fit a processor's nearer caches, and each lookup
// waits for one line of memory. Most pairs asked for do not merge; a filter of bits answers for nearly all of those.
class PairTable {
 public:
  static constexpr TokenId kMaxId = (TokenId{1} << 21) - 2;
  static constexpr std::uint32_t kNever = (std::uint32_t{1} << 22) - 1;

  explicit PairTable(std::size_t num_pairs)
      : slots_(std::bit_ceil(std::max<std::size_t>(64, 2 * num_pairs))),
        filter_(std::max<std::size_t>(1, slots_.size() * kFilterBits / 128)),
        slot_shift_(static_cast<unsigned>(64 - std::countr_zero(slots_.size()))),
        bit_shift_(static_cast<unsigned>(64 - std::countr_zero(filter_.size() * 64))) {}

  // At most the pairs that the table was made for; ids up to kMaxId, times from 1 to below kNever.
  void insert(TokenId left, TokenId right, std::uint32_t time) {
    const std::uint64_t key = key_of(left, right);
    const std::uint64_t hash = key * kHashMultiplier;
    filter_[(hash >> bit_shift_) / 64] |= bit_of(hash);
    std::size_t i = static_cast<std::size_t>(hash >> slot_shift_);
    while (slots_[i] != 0)
      i = (i + 1) & (slots_.size() - 1);
    slots_[i] = key << kTimeBits | time;
  }

  // Begins to load what insert() will look at.
  void prefetch(TokenId left, TokenId right) const {
    const std::uint64_t hash = key_of(left, right) * kHashMultiplier;
    __builtin_prefetch(&slots_[static_cast<std::size_t>(hash >> slot_shift_)], 1);
    __builtin_prefetch(&filter_[(hash >> bit_shift_) / 64], 1);
  }

  // kNever for a pair that does not merge.
  std::uint32_t find(TokenId left, TokenId right) const {
    const std::uint64_t key = key_of(left, right);
    const std::uint64_t hash = key * kHashMultiplier;
    if ((filter_[(hash >> bit_shift_) / 64] & bit_of(hash)) == 0) return kNever;
    for (std::size_t i = static_cast<std::size_t>(hash >> slot_shift_); slots_[i] != 0;
         i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i] >> kTimeBits == key) return static_cast<std::uint32_t>(slots_[i]) & kNever;
    }
    return kNever;
  }

 private:
  static constexpr unsigned kIdBits = 21;
  static constexpr unsigned kTimeBits = 22;
  static constexpr std::size_t kFilterBits = 16;  // per pair

  static std::uint64_t key_of(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(left) << kIdBits | static_cast<std::uint64_t>(right);
  }
  std::uint64_t bit_of(std::uint64_t hash) const { return std::uint64_t{1} << (hash >> bit_shift_) % 64; }

  base::PageVector<std::uint64_t> slots_;   // left and right of 21 bits, time of 22; 0: free
  base::PageVector<std::uint64_t> filter_;  // a bit per hash
  unsigned slot_shift_, bit_shift_;
};

}  // namespace vitrine::tokenizer
