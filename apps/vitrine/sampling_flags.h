#pragma once

#include <string>
#include <vector>

#include "sampling/sampling_params.h"

namespace CLI {
class App;
}

namespace vitrine::cli {

// One flag for every row of the sampling table, and those that are no scalars.
struct SamplingFlags {
  sampling::SamplingParams params;
  std::vector<std::string> logit_bias;  // "ID=BIAS"

  // The parameters with everything parsed. Throws (kUsage).
  sampling::SamplingParams parsed() const;
};
void add_sampling_flags(CLI::App& app, SamplingFlags& flags);

}  // namespace vitrine::cli
