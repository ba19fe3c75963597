#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/layers/linear.h"
#include "models/layers/step.h"

namespace vitrine::models {

// Grouped-query attention (Ainslie et al., arXiv 2305.13245) with rotary positions over the paged cache. Queries and
// keys are RMS-normalised per head where the norms are not empty (Gemma 3).
struct Attention {
  struct Names {
    std::string query, key, value, output;  // without ".weight"
    std::string query_norm, key_norm;       // with ".weight"; empty: the family has none
  };

  Linear query;
  Linear key;
  Linear value;
  Linear output;
  std::vector<float> query_norm;  // [head_dim]
  std::vector<float> key_norm;    // [head_dim]
  std::size_t layer_idx = 0;
  bool is_windowed = false;

  static Attention load(WeightLoader& weights, const ModelConfig& config, std::size_t layer_idx, const Names& names);

  // out [num_rows, hidden_size] = attention of x [num_rows, hidden_size], whose rows are normed on the way
  void forward(const Step& step, const ops::NormedRows& x, ops::Rows out) const;
};

}  // namespace vitrine::models
