#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

// Answers for pairs of tokens that were asked for before, four bytes each: a pair takes the place of another one with
// its hash. The hash is one to one, so that a place and what is kept there name the pair. Any thread: each entry is
// whole, whoever wrote it.
class KnownPairs {
 public:
  static constexpr TokenId kMaxId = (TokenId{1} << 21) - 2;

  KnownPairs() : entries_(std::size_t{1} << kPlaceBits) {}

  void prefetch(TokenId left, TokenId right) const { __builtin_prefetch(&entries_[hash_of(left, right) >> kTagBits]); }
  std::optional<bool> find(TokenId left, TokenId right) const {
    const std::uint64_t hash = hash_of(left, right);
    const std::uint32_t entry = entries_[hash >> kTagBits].load(std::memory_order_relaxed);
    if (entry >> 1 != tag_of(hash)) return std::nullopt;
    return (entry & 1) != 0;
  }
  void keep(TokenId left, TokenId right, bool answer) {
    const std::uint64_t hash = hash_of(left, right);
    entries_[hash >> kTagBits].store(tag_of(hash) << 1 | static_cast<std::uint32_t>(answer), std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kIdBits = 21;
  static constexpr unsigned kPlaceBits = 17;
  static constexpr unsigned kTagBits = 2 * kIdBits - kPlaceBits;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 2 * kIdBits) - 1;

  // Each step can be undone.
  static std::uint64_t hash_of(TokenId left, TokenId right) {
    std::uint64_t hash = static_cast<std::uint64_t>(left) << kIdBits | static_cast<std::uint64_t>(right);
    hash = (hash ^ hash >> kIdBits) * kHashMultiplier & kMask;
    return (hash ^ hash >> kIdBits) * kHashMultiplier & kMask;
  }
  // Never that of a free place, which is 0.
  static std::uint32_t tag_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash & ((std::uint64_t{1} << kTagBits) - 1)) | std::uint32_t{1} << kTagBits;
  }

  std::vector<std::atomic<std::uint32_t>> entries_;
};

}  // namespace vitrine::tokenizer
