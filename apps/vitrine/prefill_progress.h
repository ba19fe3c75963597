#pragma once

#include <chrono>
#include <cstddef>

#include "vitrine/terminal.h"

namespace vitrine::cli {

// One line on a terminal that says how much of a long prompt has been read; gone before the answer begins. Nothing
// elsewhere, and nothing for a prompt that is read at once.
class PrefillProgress {
 public:
  PrefillProgress(const Terminal& err, bool is_quiet) : err_(err), is_shown_at_all_(err.is_tty() && !is_quiet) {}
  ~PrefillProgress() { clear(); }
  PrefillProgress(const PrefillProgress&) = delete;
  PrefillProgress& operator=(const PrefillProgress&) = delete;

  void show(std::size_t num_computed, std::size_t num_prompt_tokens);
  void clear();

 private:
  Terminal err_;
  bool is_shown_at_all_;
  bool is_on_screen_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace vitrine::cli
