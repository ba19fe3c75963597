#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// The same requests, all there at the start, one after the other and in three kinds of batches.
struct BatchingOptions {
  std::vector<std::size_t> prompt_tokens = {8, 16, 12, 10, 14, 16, 9, 13};  // in turn
  std::vector<std::size_t> answer_tokens = {12, 32, 20, 28, 24, 16, 30, 26};
  std::size_t num_requests = 24;
  std::size_t batch = 8;
  Rounds rounds = {.most = 25};
};

enum class Batching {
  kNone,        // one answer after the other
  kPadded,      // batches of equal lengths: prompts and answers as long as the longest; handed out when all are done
  kStatic,      // batches without padding, that nobody joins: the engine's static_batches
  kContinuous,  // answers begin and end at any step
};
inline constexpr std::array kBatchings = {Batching::kNone, Batching::kPadded, Batching::kStatic, Batching::kContinuous};
std::string_view batching_name(Batching kind);

struct BatchingRow {
  Batching kind = Batching::kNone;
  double tokens_per_s = 0.0;  // that were asked for; medians, as all
  double ttft_s = 0.0;        // of the median request
  double latency_s = 0.0;     // to the end of the median request
  double slowest_s = 0.0;     // to the end of the last one
  std::size_t num_rows = 0;   // positions computed
  Spread speedup;             // tokens per second to those of one after the other
  Spread to_padded;           // to those of padded batches
  Spread latency_to_padded;
  Spread to_static;  // tokens per second to those of batches without padding
};

// Positions that such batches compute, for prompts and answers in turn as the options have them.
std::size_t rows_of(Batching kind, const BatchingOptions& options);

// Rows as in kBatchings.
Conclusion conclude_batching(std::span<const BatchingRow> rows);
Report batching_report(std::span<const BatchingRow> rows);
Report run_batching(const Workbench& bench, const BatchingOptions& options);

}  // namespace vitrine::lab
