#pragma once

#include <cstddef>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_id.h"
#include "ops/sequence_rows.h"

namespace vitrine::models {

using ops::SequenceRows;

// One step's work, flattened over sequences: there are no phases, only rows to compute.
struct ForwardBatch {
  std::vector<TokenId> token_ids;       // [num_rows]
  std::vector<SequenceRows> sequences;  // in row order, without gaps; a sequence appears at most once
  std::vector<std::size_t> logit_rows;  // rows whose logits are wanted, increasing
  bool wants_peaks = false;         // of logit_rows the largest logits alone, where the model can do without the rest
  bool wants_final_hidden = false;  // of every row
  base::Heartbeat* heartbeat = nullptr;  // beats as each layer ends; null: nobody looks

  std::size_t num_rows() const { return token_ids.size(); }
};

}  // namespace vitrine::models
