#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/merge_engine.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

// The tokens of words met before, so that a model seldom sees the same word twice. Direct-mapped: a word takes the
// place of another one with its hash. Belongs to one call of encode; one thread.
class WordCache {
 public:
  // Nothing is kept before this call, nor for a short text, which repeats too few words.
  void reserve_for(std::size_t text_bytes);

  // Begins to load what find() will look at.
  void prefetch(std::string_view word) const {
    if (!entries_.empty() && word.size() <= kMaxWordBytes) __builtin_prefetch(&entries_[place_of(packed(word))]);
  }

  // Appends the tokens of `word` if they are here: as symbols, or their ids alone.
  bool find(std::string_view word, std::vector<Symbol>& symbols) {
    const Entry* entry = look_up(word);
    if (entry == nullptr) return false;
    for (std::size_t i = 0; i < entry->num_symbols; ++i)
      symbols.push_back({entry->ids[i], entry->lengths[i]});
    return true;
  }
  bool find(std::string_view word, std::vector<TokenId>& ids) {
    const Entry* entry = look_up(word);
    if (entry == nullptr) return false;
    for (std::size_t i = 0; i < entry->num_symbols; ++i)
      ids.push_back(entry->ids[i]);
    return true;
  }

  // Keeps what `symbols` holds from `first` on as the tokens of the `word` that was not found just now.
  void keep(std::string_view word, const std::vector<Symbol>& symbols, std::size_t first) {
    const std::size_t num_symbols = symbols.size() - first;
    if (current_ == nullptr || num_symbols > kMaxSymbols) return;
    current_->text = text_;
    current_->num_bytes = static_cast<std::uint8_t>(word.size());
    current_->num_symbols = static_cast<std::uint8_t>(num_symbols);
    for (std::size_t i = 0; i < num_symbols; ++i) {
      current_->ids[i] = symbols[first + i].id;
      current_->lengths[i] = static_cast<std::uint8_t>(symbols[first + i].length);
    }
  }

 private:
  static constexpr std::size_t kMaxWordBytes = 24;
  static constexpr std::size_t kMaxSymbols = 7;
  // The bytes of a word, zeros behind them. Three words that stay in registers: an array would be written to memory in
  // small pieces and read back in large ones, for which the processor has to wait.
  struct Text {
    std::uint64_t first = 0, second = 0, third = 0;
    friend bool operator==(const Text&, const Text&) = default;
  };

  struct alignas(64) Entry {  // a cache line
    Text text{};
    std::array<TokenId, kMaxSymbols> ids{};
    std::array<std::uint8_t, kMaxSymbols> lengths{};
    std::uint8_t num_bytes = 0xFF;
    std::uint8_t num_symbols = 0;
  };

  // nullptr for a word that is not here, whose place keep() then takes.
  const Entry* look_up(std::string_view word) {
    current_ = nullptr;
    if (entries_.empty() || word.size() > kMaxWordBytes) return nullptr;
    const Text text = packed(word);
    Entry& entry = entries_[place_of(text)];
    if (entry.num_bytes == word.size() && entry.text == text) return &entry;
    text_ = text;
    current_ = &entry;
    return nullptr;
  }

  static Text packed(std::string_view word) {
    if (word.size() <= 8) return {packed_bytes(word), 0, 0};
    const std::uint64_t first = load_word<std::uint64_t>(word.data());
    if (word.size() <= 16) return {first, packed_bytes(word.substr(8)), 0};
    return {first, load_word<std::uint64_t>(word.data() + 8), packed_bytes(word.substr(16))};
  }

  std::size_t place_of(const Text& text) const {
    std::uint64_t hash = text.first * kHashMultiplier;
    hash = ((hash ^ (hash >> 32)) + text.second) * kHashMultiplier;
    hash = ((hash ^ (hash >> 32)) + text.third) * kHashMultiplier;
    return static_cast<std::size_t>(hash >> shift_);
  }

  std::vector<Entry> entries_;
  unsigned shift_ = 63;
  Text text_{};
  Entry* current_ = nullptr;
};

}  // namespace vitrine::tokenizer
