#pragma once

#include <atomic>

namespace vitrine::cli {

// Ctrl-C ends the process with 130 at once, unless a command is inside an InterruptScope: then the first Ctrl-C sets
// the flag, which the command polls to stop in order, and the second one ends the process. SIGPIPE is ignored: a reader
// that has seen enough shows as EPIPE on stdout.
void install_signal_handlers();

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // True from the first Ctrl-C on. Valid while the scope lives; may be read by any thread.
  const std::atomic<bool>& requested() const;
};

}  // namespace vitrine::cli
