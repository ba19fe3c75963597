#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "kvcache/block_id.h"
#include "ops/role.h"

namespace vitrine::ops {

// Consecutive tokens of one sequence inside a batch: rows [first_row, first_row + num_rows) are its positions
// [first_position, first_position + num_rows).
struct SequenceRows {
  std::size_t first_row = 0;
  std::size_t num_rows = 0;
  std::size_t first_position = 0;
  std::size_t prompt_tokens = 0;  // positions below it are prompt rows, the others generated rows
  std::span<const kvcache::BlockId>
      block_table;  // covers positions [0, first_position + num_rows); owned by the caller

  // They come first.
  std::size_t num_prompt_rows() const {
    return prompt_tokens <= first_position ? 0 : std::min(num_rows, prompt_tokens - first_position);
  }
  Role role(std::size_t position) const { return position < prompt_tokens ? Role::kPrompt : Role::kGenerated; }
};

}  // namespace vitrine::ops
