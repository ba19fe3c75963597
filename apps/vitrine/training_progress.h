#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tokenizer/bpe_trainer.h"
#include "vitrine/progress.h"
#include "vitrine/terminal.h"

namespace vitrine::cli {

// Shows a BPE training on stderr: a bar while words are counted, then the merges, what a token holds by now and the
// time left. On a terminal one line that goes when the training is done, elsewhere a line now and then, nothing with
// --quiet. Ctrl-C cancels.
class TrainingProgress final : public tokenizer::TrainingObserver {
 public:
  TrainingProgress(const Terminal& err, bool is_quiet) : err_(err), is_quiet_(is_quiet), counting_(err, is_quiet) {}
  ~TrainingProgress() override { clear(); }

  void counted(std::uint64_t bytes, std::uint64_t total_bytes) override;
  void merged(std::size_t merges, std::size_t most_merges, double bytes_per_token) override;
  bool cancelled() const override { return counting_.cancelled(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_due(Clock::time_point now) const;
  void clear();

  Terminal err_;
  bool is_quiet_;
  ProgressBar counting_;
  Clock::time_point started_;
  Clock::time_point shown_;
  bool is_on_screen_ = false;
};

}  // namespace vitrine::cli
