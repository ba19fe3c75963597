#include "sampling/history.h"

#include <algorithm>

namespace vitrine::sampling {

std::span<const TokenId> window(std::span<const TokenId> history, int last_n) {
  if (last_n < 0) return history;
  return history.last(std::min(history.size(), static_cast<std::size_t>(last_n)));
}

std::vector<std::uint32_t> suffix_matches(std::span<const TokenId> history) {
  const std::size_t size = history.size();
  const auto newest = [&](std::size_t age) { return history[size - 1 - age]; };
  std::vector<std::uint32_t> matches(size);
  if (size == 0) return matches;
  matches[size - 1] = static_cast<std::uint32_t>(size);
  // [begin, end) is the furthest-reaching known copy of the newest tokens, in ages.
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::size_t age = 1; age < size; ++age) {
    std::size_t length = 0;
    if (age < end) length = std::min<std::size_t>(end - age, matches[size - 1 - (age - begin)]);
    while (age + length < size && newest(length) == newest(age + length))
      ++length;
    matches[size - 1 - age] = static_cast<std::uint32_t>(length);
    if (age + length > end) {
      begin = age;
      end = age + length;
    }
  }
  return matches;
}

}  // namespace vitrine::sampling
