#include "tokenizer/word_counts.h"

#include "base/check.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

void WordCounts::add(std::string_view word, std::uint64_t times) {
  num_words_ += times;
  num_bytes_ += times * word.size();
  const std::uint64_t hash = hash_word(word);
  const auto short_hash = static_cast<std::uint32_t>(hash >> 16);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = static_cast<std::size_t>(hash >> shift_);
  for (; slots_[i].entry != 0; i = (i + 1) & mask) {
    if (slots_[i].hash != short_hash || this->word(slots_[i].entry - 1) != word) continue;
    entries_[slots_[i].entry - 1].times += times;
    return;
  }
  entries_.push_back({bytes_.size(), times, static_cast<std::uint32_t>(word.size())});
  bytes_ += word;
  slots_[i] = {short_hash, static_cast<std::uint32_t>(entries_.size())};
  if (entries_.size() * 2 > slots_.size()) grow();
}

void WordCounts::add_all(const WordCounts& other) {
  for (std::size_t i = 0; i < other.num_distinct(); ++i)
    add(other.word(i), other.times(i));
}

void WordCounts::grow() {
  VT_CHECK(shift_ > 32, "more distinct words than an index holds");
  slots_.assign(slots_.size() * 2, {});
  --shift_;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t entry = 0; entry < entries_.size(); ++entry) {
    const std::uint64_t hash = hash_word(word(entry));
    std::size_t i = static_cast<std::size_t>(hash >> shift_);
    while (slots_[i].entry != 0)
      i = (i + 1) & mask;
    slots_[i] = {static_cast<std::uint32_t>(hash >> 16), static_cast<std::uint32_t>(entry + 1)};
  }
}

}  // namespace vitrine::tokenizer
