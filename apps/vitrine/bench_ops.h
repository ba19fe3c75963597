#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/cpu/peaks.h"
#include "tools/bench/op_profile.h"
#include "vitrine/output.h"

namespace vitrine::cli {

// What the machine did at most in the same minutes.
struct OpRoofs {
  double bytes_per_s = 0.0;
  std::vector<backends::cpu::Peak> peaks;
};

// Where the time of a forward pass went, operation by operation: `bench model --ops`.
class OpTable {
 public:
  // num_passes: that `profile` watched, prompts or decoding steps; watched_s: the time of them all; overhead: by how
  // much watching made them longer, a share.
  OpTable(const tools::OpProfile& profile, std::size_t num_passes, double watched_s, double overhead, OpRoofs roofs);

  nlohmann::ordered_json to_json() const;
  // With a line above that says how long a pass took, and what watching cost.
  void print(const std::string& title, const Terminal& out) const;

 private:
  // Of one pass.
  struct Row {
    std::string section;
    std::string op;
    double num_calls;
    explain::Cost cost;
    double roof_share;  // the nearer of the two roofs; 0 where neither bytes nor operations are counted
  };

  std::vector<Row> rows_;
  double pass_s_;
  double between_s_;  // not in any operation
  double overhead_;
  OpRoofs roofs_;
};

}  // namespace vitrine::cli
