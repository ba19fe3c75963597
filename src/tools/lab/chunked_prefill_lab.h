#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// What running answers feel of a long prompt that arrives: with the prompt in one step and in chunks.
struct ChunkedPrefillOptions {
  std::size_t num_answers = 4;
  std::size_t answer_prompt_tokens = 16;
  std::size_t tokens_before = 24;  // of each answer, before the long prompt arrives
  std::size_t long_prompt_tokens = 1024;
  std::vector<std::size_t> chunks = {256, 64};  // besides the prompt in one step and the engine's own choice
  Rounds rounds = {.most = 9};
};

struct ChunkedPrefillRow {
  std::string variant;        // "one step", "chunks of 256", "the engine's choice"
  double gap_before_s = 0.0;  // between two tokens of an answer, the median; medians over the rounds, as all
  double gap_s = 0.0;         // while the prompt is computed, the median
  double longest_gap_s = 0.0;
  double ttft_s = 0.0;      // of the long prompt
  Spread longest_to_whole;  // the longest gap to that of the prompt in one step
  Spread ttft_to_whole;
};

// The first row is the prompt in one step, the last the engine's own choice.
Conclusion conclude_chunked_prefill(std::span<const ChunkedPrefillRow> rows);
Report chunked_prefill_report(std::span<const ChunkedPrefillRow> rows);
Report run_chunked_prefill(const Workbench& bench, const ChunkedPrefillOptions& options);

}  // namespace vitrine::lab
