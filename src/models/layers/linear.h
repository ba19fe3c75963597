#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/weight_loader.h"
#include "ops/backend.h"

namespace vitrine::models {

// A linear map, x W^T + b; the bias is empty where the file has none.
struct Linear {
  std::unique_ptr<ops::Matrix> weight;
  std::vector<float> bias;

  // `name` without ".weight" or ".bias".
  static Linear load(WeightLoader& weights, const std::string& name, std::size_t out_features,
                     std::size_t in_features) {
    return {weights.matrix(name + ".weight", out_features, in_features, ops::MatrixUse::kLayer),
            weights.optional_vector(name + ".bias", out_features)};
  }

  void add_bias(ops::Backend& backend, ops::Rows out) const {
    if (!bias.empty()) backend.add_bias(out, bias);
  }
};

}  // namespace vitrine::models
