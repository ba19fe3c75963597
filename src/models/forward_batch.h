#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "kvcache/block_id.h"
#include "ops/role.h"

namespace vitrine::models {

// Consecutive tokens of one sequence inside a ForwardBatch: rows [first_row, first_row + num_rows) are its positions
// [first_position, first_position + num_rows).
struct SequenceRows {
  std::size_t first_row = 0;
  std::size_t num_rows = 0;
  std::size_t first_position = 0;
  std::size_t prompt_tokens = 0;                     // positions below it are prompt rows, the others generated rows
  std::span<const kvcache::BlockId> block_table;     // covers positions [0, first_position + num_rows); owned by the caller

  ops::Role role(std::size_t position) const {
    return position < prompt_tokens ? ops::Role::kPrompt : ops::Role::kGenerated;
  }
};

// One step's work, flattened over sequences: there are no phases, only rows to compute.
struct ForwardBatch {
  std::vector<TokenId> token_ids;        // [num_rows]
  std::vector<SequenceRows> sequences;   // in row order, without gaps; a sequence appears at most once
  std::vector<std::size_t> logit_rows;   // rows whose logits are wanted, increasing

  std::size_t num_rows() const { return token_ids.size(); }
};

}  // namespace vitrine::models
