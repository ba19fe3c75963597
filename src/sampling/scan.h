#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

// Passes over a whole row of logits. Few of a vocabulary's logits matter to a step, so the passes look at blocks first,
// by integer comparisons, which compilers vectorise without -ffast-math.
namespace vitrine::sampling {

// Integers in the order of the floats, with NaNs outside both infinities. Its own inverse on the bits.
inline std::int32_t order_key(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}
inline float from_order_key(std::int32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) & 0x7FFFFFFF));
}

inline constexpr std::size_t kScanBlock = 64;

// The block of at most kScanBlock logits that begins at `begin`.
inline std::span<const float> scan_block(std::span<const float> logits, std::size_t begin) {
  return logits.subspan(begin, std::min(kScanBlock, logits.size() - begin));
}

inline float block_max(std::span<const float> block) {
  std::int32_t largest = std::numeric_limits<std::int32_t>::min();
  for (const float logit : block)
    largest = std::max(largest, order_key(logit));
  return from_order_key(largest);
}

// visit(position), in order, for every logit >= lowest. `visit` may overwrite logits at or before its position.
template <typename Visit>
void for_each_at_least(std::span<const float> logits, float lowest, Visit visit) {
  for (std::size_t begin = 0; begin < logits.size(); begin += kScanBlock) {
    const std::span<const float> block = scan_block(logits, begin);
    if (block_max(block) < lowest) continue;
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block[i] >= lowest) visit(begin + i);
    }
  }
}

}  // namespace vitrine::sampling
