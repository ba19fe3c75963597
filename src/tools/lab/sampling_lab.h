#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/sampling_params.h"
#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// What temperature, top-k, top-p and both leave of a distribution: of a published example of five tokens, and of a
// model's next token.
struct SamplingOptions {
  std::string prompt = "The best thing about a rainy day is";
  std::size_t num_answers = 24;  // of each setting, each with a seed of its own
  std::size_t answer_tokens = 8;
};

struct SamplingRow {
  bool is_example = false;
  std::string setting;  // "temperature 0.3", "top-k 40", ...
  sampling::SamplingParams params;
  std::size_t num_kept = 0;
  std::string top_token;
  double top_probability = 0.0;
  double perplexity = 0.0;                    // e to the entropy: as many equally likely tokens would be as uncertain
  std::optional<double> published_deviation;  // the largest difference of a probability from the published one
  std::optional<double> distinct_share;       // of the answers: 1, each is another one
};

// One setting of the published example: five logits and what they become.
struct WorkedExample {
  std::string setting;
  sampling::SamplingParams params;
  std::vector<double> probabilities;  // by token; 0 for one that is not kept
};
std::span<const float> worked_logits();
std::span<const std::string_view> worked_tokens();
std::vector<WorkedExample> worked_examples();

// The example's rows, in which every probability is computed by the sampler that answers requests.
std::vector<SamplingRow> worked_rows();

Conclusion conclude_sampling(std::span<const SamplingRow> rows);
Report sampling_report(std::span<const SamplingRow> rows);
Report run_sampling(const Workbench& bench, const SamplingOptions& options);

}  // namespace vitrine::lab
