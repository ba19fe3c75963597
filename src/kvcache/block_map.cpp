#include "kvcache/block_map.h"

#include <cstdint>

namespace vitrine::kvcache {
namespace {

char mark_of(const BlockPool& pool, BlockId block) {
  const std::uint32_t num_owners = pool.num_owners(block);
  if (num_owners > 1) return 's';
  if (num_owners == 1) return pool.is_cached(block) ? 'p' : 'o';
  return pool.is_cached(block) ? 'c' : '.';
}

}  // namespace

std::string block_map(const BlockPool& pool) {
  std::string map(pool.num_blocks(), '.');
  for (std::size_t i = 0; i < map.size(); ++i)
    map[i] = mark_of(pool, static_cast<BlockId>(i));
  return map;
}

}  // namespace vitrine::kvcache
