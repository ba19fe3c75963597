#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/token_id.h"

namespace vitrine::sampling {

// Token to integer, for one step: open addressing in one allocation, since std::unordered_map would allocate per token
// of a long history. Holds at most `max_tokens` tokens; negative ids are not tokens and must not be added.
class TokenMap {
 public:
  explicit TokenMap(std::size_t max_tokens) : slots_(std::bit_ceil(2 * max_tokens + 2)) {}

  // The value of `token`, 0 when it is new.
  int& operator[](TokenId token) {
    std::size_t slot = static_cast<std::size_t>(token) * 0x9E3779B97F4A7C15U & (slots_.size() - 1);
    while (slots_[slot].token != token && slots_[slot].token != kFree)
      slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot].token = token;
    return slots_[slot].value;
  }

  // Calls function(token, value) for every token, in no particular order.
  template <typename Function>
  void for_each(Function function) const {
    for (const Slot& slot : slots_) {
      if (slot.token != kFree) function(slot.token, slot.value);
    }
  }

 private:
  static constexpr TokenId kFree = -1;
  struct Slot {
    TokenId token = kFree;
    int value = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace vitrine::sampling
