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

  // Appends the tokens of `word` if they are here.
  bool find(std::string_view word, std::vector<Symbol>& symbols) {
    current_ = nullptr;
    if (entries_.empty() || word.size() > kMaxWordBytes) return false;
    text_ = packed(word);
    current_ = &entries_[place_of(text_)];
    if (current_->num_bytes != word.size() || current_->text != text_) return false;
    for (std::size_t i = 0; i < current_->num_symbols; ++i)
      symbols.push_back({current_->ids[i], current_->lengths[i]});
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
  using Text = std::array<std::uint64_t, kMaxWordBytes / 8>;

  struct alignas(64) Entry {  // a cache line
    Text text{};
    std::array<TokenId, kMaxSymbols> ids{};
    std::array<std::uint8_t, kMaxSymbols> lengths{};
    std::uint8_t num_bytes = 0xFF;
    std::uint8_t num_symbols = 0;
  };

  // The bytes of a word, zeros behind them.
  static Text packed(std::string_view word) {
    Text text{};
    std::size_t i = 0;
    for (; word.size() > 8; word.remove_prefix(8))
      text[i++] = load_word<std::uint64_t>(word.data());
    text[i] = packed_bytes(word);
    return text;
  }

  std::size_t place_of(const Text& text) const {
    constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
    std::uint64_t hash = text[0] * kMultiplier;
    hash = ((hash ^ (hash >> 32)) + text[1]) * kMultiplier;
    hash = ((hash ^ (hash >> 32)) + text[2]) * kMultiplier;
    return static_cast<std::size_t>(hash >> shift_);
  }

  std::vector<Entry> entries_;
  unsigned shift_ = 63;
  Text text_{};
  Entry* current_ = nullptr;
};

}  // namespace vitrine::tokenizer
