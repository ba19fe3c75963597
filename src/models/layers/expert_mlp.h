#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/layers/linear.h"
#include "models/layers/step.h"

namespace vitrine::models {

// A mixture of SwiGLU experts: a router sends every token to some of them, whose answers are summed with the router's
// weights in the order of its choice (Jiang et al., arXiv 2401.04088).
struct ExpertMlp {
  struct Names {
    std::string router;  // without ".weight"
    ExpertTensor gate, up, down;
  };
  using Experts = std::vector<std::unique_ptr<ops::Matrix>>;  // [num_experts]

  std::unique_ptr<ops::Matrix> router;  // [num_experts, hidden_size]
  Experts gate;
  Experts up;
  Experts down;

  static ExpertMlp load(WeightLoader& weights, const ModelConfig& config, const Names& names);

  // out [num_rows, hidden_size] from x [num_rows, hidden_size], whose rows are normed first
  void forward(const Step& step, const ops::NormedRows& x, ops::Rows out) const;
};

}  // namespace vitrine::models
