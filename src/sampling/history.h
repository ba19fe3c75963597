#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace vitrine::sampling {

// The newest `last_n` tokens; all of them for a negative `last_n`, none for 0.
std::span<const TokenId> window(std::span<const TokenId> history, int last_n);

// For each position j the length of the longest common suffix of history[0..j] and the whole history; the last entry is
// the history's length. Linear time: the Z-function (Gusfield, 1997) of the reversed history.
std::vector<std::uint32_t> suffix_matches(std::span<const TokenId> history);

}  // namespace vitrine::sampling
