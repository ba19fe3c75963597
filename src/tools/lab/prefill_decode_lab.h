#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// Prompts and answers under the roofline (Williams et al., "Roofline", 2009): operations per second against operations
// per byte, below what this machine was measured to read and to multiply.
struct PrefillDecodeOptions {
  std::vector<std::size_t> prompt_rows = {16, 64, 512};  // of one step
  std::vector<std::size_t> batches = {1, 4, 16, 64};     // answers at once
  std::size_t answer_tokens = 12;
  Rounds rounds = {.most = 9};
};

struct RooflineRow {
  bool is_prefill = false;
  std::size_t num_rows = 0;    // of a step
  double step_s = 0.0;         // medians, as all
  double flops = 0.0;          // of a step, by the sizes of the model
  double bytes = 0.0;          // that it must read at least
  double compute_share = 0.0;  // of the operations per second that this role was measured to reach at best
  double memory_share = 0.0;   // of the bytes per second that can be read
  Spread balance = {};         // compute_share to memory_share, run by run: above 1, multiplying is nearer to its roof

  double intensity() const { return flops / bytes; }  // operations per byte
  double flops_per_s() const { return flops / step_s; }
  double bytes_per_s() const { return bytes / step_s; }
};

// What the machine was measured to do at best, the medians.
struct Roofs {
  double read_bytes_per_s = 0.0;
  double prompt_flops_per_s = 0.0;
  double generated_flops_per_s = 0.0;
};

// Prefill rows first, each kind by rising num_rows.
Conclusion conclude_prefill_decode(std::span<const RooflineRow> rows, const Roofs& roofs);
Report prefill_decode_report(std::span<const RooflineRow> rows, const Roofs& roofs);
Report run_prefill_decode(const Workbench& bench, const PrefillDecodeOptions& options);

}  // namespace vitrine::lab
