#pragma once

#include <cstddef>
#include <cstdint>

#include "base/page_buffer.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

// A hash map from 64-bit keys to small values, open addressing, insert and find only. Twice as fast as the standard one
// where it counts: the tables of merges are asked several times per character. The key ~0 is reserved.
template <typename Value>
class FlatMap {
 public:
  explicit FlatMap(std::size_t expected = 0) { rehash(expected); }

  // Room for so many entries.
  void reserve(std::size_t expected) {
    if (expected * 2 > slots_.size()) rehash(expected);
  }

  // The value of `key`, put in as `value` if it was absent.
  Value& insert(std::uint64_t key, Value value) {
    if ((size_ + 1) * 2 > slots_.size()) rehash(size_ + 1);
    Slot& slot = slots_[slot_of(key)];
    if (slot.key == kEmpty) {
      slot = {key, value};
      ++size_;
    }
    return slot.value;
  }

  const Value* find(std::uint64_t key) const {
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == kEmpty ? nullptr : &slot.value;
  }
  // Begins to load what find() will look at.
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[first_slot_of(key)]); }
  bool contains(std::uint64_t key) const { return find(key) != nullptr; }
  std::size_t size() const { return size_; }

  // visit(key, value) for each entry, in no order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kEmpty) visit(slot.key, slot.value);
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    Value value{};
  };

  std::size_t first_slot_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * kHashMultiplier) >> shift_);
  }
  std::size_t slot_of(std::uint64_t key) const {
    std::size_t i = first_slot_of(key);
    const std::size_t mask = slots_.size() - 1;
    while (slots_[i].key != key && slots_[i].key != kEmpty)
      i = (i + 1) & mask;
    return i;
  }

  void rehash(std::size_t expected) {
    std::size_t capacity = 16;
    unsigned bits = 4;
    while (capacity < expected * 2)
      capacity *= 2, ++bits;
    base::PageVector<Slot> old(capacity);
    old.swap(slots_);
    shift_ = 64 - bits;
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) slots_[slot_of(slot.key)] = slot;
    }
  }

  base::PageVector<Slot> slots_;
  std::size_t size_ = 0;
  unsigned shift_ = 60;
};

}  // namespace vitrine::tokenizer
