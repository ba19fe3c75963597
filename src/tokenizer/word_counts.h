#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::tokenizer {

// How often each word occurs in a text. Owns one copy of every distinct word. One thread.
class WordCounts {
 public:
  void add(std::string_view word, std::uint64_t times = 1);
  void add_all(const WordCounts& other);

  std::size_t num_distinct() const { return entries_.size(); }
  std::string_view word(std::size_t i) const {
    return std::string_view(bytes_).substr(entries_[i].begin, entries_[i].length);
  }
  std::uint64_t times(std::size_t i) const { return entries_[i].times; }

  // Of the whole text.
  std::uint64_t num_words() const { return num_words_; }
  std::uint64_t num_bytes() const { return num_bytes_; }
  // Of the distinct words.
  std::size_t num_distinct_bytes() const { return bytes_.size(); }

 private:
  struct Entry {
    std::size_t begin = 0;
    std::uint64_t times = 0;
    std::uint32_t length = 0;
  };
  // An entry's index plus one, and enough of its hash to pass over most others; 0 where there is none.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = 0;
  };

  void grow();

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kFirstBits);
  unsigned shift_ = 64 - kFirstBits;
  std::uint64_t num_words_ = 0;
  std::uint64_t num_bytes_ = 0;

  static constexpr unsigned kFirstBits = 10;
};

}  // namespace vitrine::tokenizer
