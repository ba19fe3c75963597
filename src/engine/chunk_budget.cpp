#include "engine/chunk_budget.h"

#include <algorithm>

namespace vitrine::engine {
namespace {

// Follows a change within some steps, a single odd step hardly.
double blend(const std::optional<double>& old, double now) {
  constexpr double kWeight = 0.25;
  return old ? *old + kWeight * (now - *old) : now;
}

}  // namespace

double ChunkBudget::answers_s(std::size_t num_answers) const {
  if (!answers_s_) return 0.0;
  return *answers_s_ * static_cast<double>(num_answers) / static_cast<double>(answers_measured_);
}

std::size_t ChunkBudget::tokens(std::size_t num_answers, std::size_t num_prompts) const {
  if (num_mixed_ >= kLookInterval) return 0;
  if (!row_s_ || !answers_s_) return std::min(kFirstTokens, max_tokens_);
  const double own_s = answers_s(num_answers);
  const double prompts_s = kShare * own_s * static_cast<double>(num_prompts);
  const double budget_s = std::max({kShare * own_s, std::min(prompts_s, kMostGapS - own_s), target_gap_s_ - own_s});
  const double rows = budget_s / std::max(*row_s_, 1e-9);
  if (rows >= static_cast<double>(max_tokens_)) return max_tokens_;
  return std::min(max_tokens_, std::max(kMinTokens, static_cast<std::size_t>(std::max(rows, 0.0))));
}

void ChunkBudget::observe(std::size_t num_answers, std::size_t num_prompt_rows, double seconds) {
  if (num_answers == 0 && num_prompt_rows == 0) return;
  if (num_prompt_rows == 0) {
    // Another number of answers is another measurement.
    answers_s_ = num_answers == answers_measured_ ? blend(answers_s_, seconds) : seconds;
    answers_measured_ = num_answers;
    num_mixed_ = 0;
    return;
  }
  if (num_answers > 0) ++num_mixed_;
  // Few rows say little about one: a step's fixed cost would be taken for theirs.
  if (num_prompt_rows < kMinTokens) return;
  const double rows_s = std::max(0.0, seconds - (num_answers > 0 ? answers_s(num_answers) : 0.0));
  row_s_ = blend(row_s_, rows_s / static_cast<double>(num_prompt_rows));
}

}  // namespace vitrine::engine
