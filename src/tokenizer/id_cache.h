#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "base/token_id.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

// Words of kMin to kWords * 8 - 1 bytes and their ids, at most kIds. Two words that fall on one place share a line of
// memory; a third one takes the place of the one that came second. Parts of words (SureBorders) are kept beside them:
// their ids may differ from those of a word of the same bytes.
template <std::size_t kWords, std::size_t kIds, std::size_t kMin>
class WordTable {
 public:
  static constexpr std::size_t kMinBytes = kMin;
  static constexpr std::size_t kMaxBytes = kWords * 8 - 1;
  static constexpr std::size_t kMaxPartBytes = kMin + 14;
  static constexpr std::size_t kMaxIds = kIds;

  // The bytes of a word or part, zeros behind them, and in the last byte which of the two it is and how many they are.
  using Key = std::array<std::uint64_t, kWords>;

  explicit WordTable(std::size_t num_entries)
      : entries_(num_entries), shift_(static_cast<unsigned>(65 - std::countr_zero(num_entries))) {}

  // `text`: kWords * 8 bytes that may be read, of which the first `size` are the word.
  static Key key_of(const char* text, std::size_t size) { return key_of(text, size, size - kMin + kFirstWordSize); }
  static Key part_key_of(const char* text, std::size_t size) { return key_of(text, size, size - kMin + 1); }

  std::size_t place_of(const Key& key) const {
    std::uint64_t hash = key[0] * kHashMultiplier;
    for (std::size_t i = 1; i < kWords; ++i)
      hash = (std::rotl(hash, 32) ^ key[i]) * kHashMultiplier;
    return static_cast<std::size_t>(hash >> shift_) * 2;
  }
  void prefetch(std::size_t place) const { __builtin_prefetch(&entries_[place]); }

  // Writes the ids of the word, and maybe more up to kIds, and answers how many they are; 0 where it is not here.
  std::size_t find(const Key& key, std::size_t place, TokenId* ids) const {
    const Entry* entry = &entries_[place];
    if (!entry->has(key)) {
      ++entry;
      if (!entry->has(key)) return 0;
    }
    std::memcpy(ids, entry->ids.data(), sizeof(entry->ids));
    return static_cast<std::size_t>(entry->key.back() >> kCountShift) + 1;
  }

  // At least one id, at most kIds.
  void keep(const Key& key, std::size_t place, std::span<const TokenId> ids) {
    Entry& entry = entries_[place];
    entries_[place + 1] = entry;
    entry.key = key;
    entry.key.back() |= std::uint64_t{ids.size() - 1} << kCountShift;
    std::copy(ids.begin(), ids.end(), entry.ids.begin());
  }

 private:
  // The last byte of a key: the size counted from the least, in 1 to 15 for a part and from kFirstWordSize on for a
  // word, and above it how many ids there are less one. Size 0 is a free place.
  static constexpr unsigned kSizeShift = 56;
  static constexpr unsigned kCountShift = 61;
  static constexpr std::size_t kFirstWordSize = 16;
  static_assert(kMaxBytes - kMin + kFirstWordSize < 32 && kMaxPartBytes <= kMaxBytes && kIds <= 8);
  static constexpr std::array<std::uint64_t, 9> kMasks = {
      0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF};

  static Key key_of(const char* text, std::size_t size, std::size_t counted) {
    Key key;
    std::memcpy(key.data(), text, sizeof(key));
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::size_t before = std::min(size, 8 * i);
      key[i] &= kMasks[std::min<std::size_t>(size - before, 8)];
    }
    key.back() |= std::uint64_t{counted} << kSizeShift;
    return key;
  }

  struct alignas(8 * kWords + 4 * kIds) Entry {
    Key key{};
    std::array<TokenId, kIds> ids{};

    bool has(const Key& wanted) const {
      std::uint64_t different = (key.back() ^ wanted.back()) << 3;  // without the count
      for (std::size_t i = 0; i + 1 < kWords; ++i)
        different |= key[i] ^ wanted[i];
      return different == 0;
    }
  };

  base::PageVector<Entry> entries_;
  unsigned shift_;
};

// The ids of words met before by one tokenizer, so that a model seldom sees the same word twice. One thread at a time.
class IdCache {
 public:
  using ShortWords = WordTable<2, 4, 1>;
  using LongWords = WordTable<4, 8, ShortWords::kMaxBytes + 1>;

  ShortWords short_words{std::size_t{1} << 15};
  LongWords long_words{std::size_t{1} << 14};
};

// The caches of a tokenizer, lent to one call of encode after another. Any thread.
class IdCachePool {
 public:
  // nullptr where none is free and a text of so many bytes does not pay for a new one.
  std::unique_ptr<IdCache> take(std::size_t text_bytes);
  void give_back(std::unique_ptr<IdCache> cache);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<IdCache>> free_;
};

}  // namespace vitrine::tokenizer
