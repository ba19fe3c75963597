#include "tokenizer/word_cache.h"

#include <algorithm>
#include <bit>

namespace vitrine::tokenizer {
namespace {

constexpr std::size_t kMinTextBytes = 2048;
// Of a text per entry: so few that clearing the entries costs next to nothing beside encoding.
constexpr std::size_t kTextBytesPerEntry = 32;
constexpr std::size_t kMaxEntries = 16384;

}  // namespace

void WordCache::reserve_for(std::size_t text_bytes) {
  if (text_bytes < kMinTextBytes) return;
  const std::size_t num_entries = std::min(std::bit_ceil(text_bytes / kTextBytesPerEntry), kMaxEntries);
  entries_.assign(num_entries, {});
  shift_ = static_cast<unsigned>(64 - std::countr_zero(num_entries));
}

}  // namespace vitrine::tokenizer
