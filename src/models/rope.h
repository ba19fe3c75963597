#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/model_config.h"
#include "ops/backend.h"

namespace vitrine::models {

// The angles of a RopeConfig: pair i at position p is turned by p * inverse_frequency[i]; cosines and sines are scaled
// by `magnitude` (YaRN, arXiv 2309.00071; 1 elsewhere). Computed in double, so that a position's bits depend on nothing
// else.
class Rope {
 public:
  explicit Rope(const RopeConfig& config);

  // positions: [num_rows]
  void angles(std::span<const std::size_t> positions, ops::RopeAngles& out) const;

 private:
  std::vector<double> inverse_frequency_;  // [rotary_dim / 2]
  double magnitude_ = 1.0;
  bool interleaved_ = false;
};

}  // namespace vitrine::models
