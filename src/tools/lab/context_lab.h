#pragma once

#include <cstddef>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// Memory and speed by the length of the context.
struct ContextOptions {
  std::vector<std::size_t> lengths = {128, 512, 1024, 2048, 4096};  // prompts
  std::size_t answer_tokens = 12;
  Rounds rounds = {.most = 9};
};

struct ContextRow {
  std::size_t context_length = 0;
  std::size_t kv_bytes = 0;           // of the blocks in use at the end
  std::size_t kv_forecast_bytes = 0;  // what `plan` reckons for the same tokens
  double prefill_tokens_per_s = 0.0;  // medians
  double decode_tokens_per_s = 0.0;
  Spread prefill_slowdown;  // of a prompt token, to the shortest context
  Spread decode_slowdown;   // of an answer's token
};

// Rows by rising context_length.
Conclusion conclude_context(std::span<const ContextRow> rows);
Report context_report(std::span<const ContextRow> rows);
Report run_context(const Workbench& bench, const ContextOptions& options);

}  // namespace vitrine::lab
