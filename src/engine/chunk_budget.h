#pragma once

#include <cstddef>
#include <optional>

namespace vitrine::engine {

// How many prompt rows a step may hold beside answers that wait for their next token, so that a long prompt does not
// make them stutter and under load requests answer together rather than wait for their prompts: each prompt takes
// kShare of the time that all answers take, as long as the gap between two tokens stays below kMostGapS; or what is
// left of the wanted gap where that is more. Learns from the steps that ran. It moves time alone: bits do not
// depend on how a prompt is cut. Owned by the engine thread.
class ChunkBudget {
 public:
  static constexpr double kShare = 0.8;
  static constexpr double kMostGapS = 0.2;
  static constexpr std::size_t kMinTokens = 16;     // fewer rows cost nearly as much
  static constexpr std::size_t kFirstTokens = 64;   // before anything was measured
  static constexpr std::size_t kLookInterval = 16;  // every so many mixed steps one holds answers alone, to be measured

  ChunkBudget(std::size_t max_tokens, double target_gap_s) : max_tokens_(max_tokens), target_gap_s_(target_gap_s) {}

  // For the next step, when it holds a row of each of `num_answers` (at least 1) answers and `num_prompts` sequences
  // have prompt rows left. 0: this step is for looking.
  std::size_t tokens(std::size_t num_answers, std::size_t num_prompts) const;
  // A step that ran: what it held and how long it took.
  void observe(std::size_t num_answers, std::size_t num_prompt_rows, double seconds);

 private:
  double answers_s(std::size_t num_answers) const;

  std::size_t max_tokens_;
  double target_gap_s_;
  std::optional<double> answers_s_;   // of a step with answers alone
  std::size_t answers_measured_ = 0;  // how many those were
  std::optional<double> row_s_;       // of a prompt row
  std::size_t num_mixed_ = 0;         // steps since one with answers alone
};

}  // namespace vitrine::engine
