#pragma once

#include <string>
#include <vector>

#include "sampling/sampling_params.h"
#include "vitrine/parser.h"

namespace vitrine::cli {

// One flag for every row of the sampling table, and those that are no scalars.
struct SamplingFlags {
  sampling::SamplingParams params;
  std::vector<std::string> logit_bias;  // "ID=BIAS"
  bool chooses = false;                 // a flag was given that has a say in which token is taken

  bool has_choice() const { return chooses || !logit_bias.empty(); }
  // The parameters with everything parsed. Without any flag that has a say in it the most probable token is taken, so
  // that an answer can be had again; with one, the table's defaults hold for all others. Throws (kUsage).
  sampling::SamplingParams parsed() const;
};
void add_sampling_flags(const Parser& parser, SamplingFlags& flags);

}  // namespace vitrine::cli
