#include "tokenizer/id_cache.h"

#include <utility>

namespace vitrine::tokenizer {
namespace {

constexpr std::size_t kMinTextBytes = 2048;
// So many threads may encode at once without making new caches.
constexpr std::size_t kMaxFree = 4;

}  // namespace

std::unique_ptr<IdCache> IdCachePool::take(std::size_t text_bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto cache = std::move(free_.back());
      free_.pop_back();
      return cache;
    }
  }
  return text_bytes < kMinTextBytes ? nullptr : std::make_unique<IdCache>();
}

void IdCachePool::give_back(std::unique_ptr<IdCache> cache) {
  if (cache == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (free_.size() < kMaxFree) free_.push_back(std::move(cache));
}

}  // namespace vitrine::tokenizer
