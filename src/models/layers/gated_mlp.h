#pragma once

#include <string>

#include "models/layers/linear.h"
#include "models/layers/step.h"

namespace vitrine::models {

// down(activation(gate(x)) * up(x)): SwiGLU and GeGLU (Shazeer, arXiv 2002.05202).
struct GatedMlp {
  struct Names {
    std::string gate, up, down;  // without ".weight"
  };

  Linear gate;
  Linear up;
  Linear down;
  ops::Activation activation = ops::Activation::kSilu;

  static GatedMlp load(WeightLoader& weights, const ModelConfig& config, ops::Activation activation,
                       const Names& names);

  // out [num_rows, hidden_size] from x [num_rows, hidden_size], whose rows are normed on the way
  void forward(const Step& step, const ops::NormedRows& x, ops::Rows out) const;
};

}  // namespace vitrine::models
