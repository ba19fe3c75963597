#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace vitrine::sampling {

// A processor of the chain that ran, and how many tokens could still be chosen after it.
struct ExplainedLink {
  std::string_view name;  // of its LogitsProcessor
  std::size_t num_survivors;
};

struct ExplainedCandidate {
  TokenId id;
  float logit;                             // of the model
  double probability;                      // of the model
  std::vector<double> after = {};          // [chain.size()]: its probability after each link; 0 once it is removed
  std::optional<std::size_t> cut_by = {};  // index of the link that removed it
};

// Why one step gave the token that it gave.
struct Explanation {
  float peak = 0.0F;                                // the largest logit of the model
  double log_sum_exp = 0.0;                         // of the model's logits: ln p = logit - log_sum_exp
  std::vector<ExplainedLink> chain = {};            // in the order in which they ran
  std::vector<ExplainedCandidate> candidates = {};  // the model's most probable first; the chosen one is among them
  TokenId chosen = -1;
  std::size_t rank = 0;       // of the chosen one in the model's order, 0 for the most probable
  double entropy_bits = 0.0;  // of what it was drawn from
  // The draw: `uniform` in [0, 1) lies in the chosen token's share [lowest, highest) of the survivors' probabilities,
  // added up in the order of ids. Absent where one token alone was left.
  struct Draw {
    double uniform;
    double lowest;
    double highest;
  };
  std::optional<Draw> draw = {};
};

}  // namespace vitrine::sampling
