#pragma once

#include <cstddef>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// So many users at once, each with a prompt and an answer.
struct ConcurrencyOptions {
  std::vector<std::size_t> users = {1, 2, 4, 8, 16, 32, 64};
  std::size_t prompt_tokens = 32;
  std::size_t answer_tokens = 24;
  Rounds rounds = {.most = 9};
};

struct ConcurrencyRow {
  std::size_t users = 0;
  double tokens_per_s = 0.0;  // all together; medians over the rounds, as all
  double ttft_s = 0.0;        // of the median user
  double itl_p50_s = 0.0;     // of all gaps between two tokens
  double itl_p99_s = 0.0;
  double tpot_s = 0.0;  // of the median user
  Spread speedup;       // tokens per second to those of the first row
  Spread itl_ratio;     // the median gap to that of the first row
  Spread to_most;       // tokens per second to those of the row with the most
};

// Rows by rising users.
Conclusion conclude_concurrency(std::span<const ConcurrencyRow> rows);
Report concurrency_report(std::span<const ConcurrencyRow> rows);
Report run_concurrency(const Workbench& bench, const ConcurrencyOptions& options);

}  // namespace vitrine::lab
