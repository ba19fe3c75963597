#pragma once

#include <string>

#include "kvcache/block_pool.h"

namespace vitrine::kvcache {

// One mark a block, in the order of their ids, for a person to look at:
//   '.' free   'o' of one sequence   'p' of one sequence, and known to the prefix index   's' of several sequences
//   'c' of none, kept for its prefix until room is needed
// Linear in the number of blocks.
std::string block_map(const BlockPool& pool);

}  // namespace vitrine::kvcache
