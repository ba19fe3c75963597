#pragma once

#include <atomic>

namespace vitrine::cli {

// Ctrl-C ends the process with 130 at once, unless a command is inside an InterruptScope: then the first Ctrl-C sets
// the flag, which the command polls to stop in order, and the second one ends the process. SIGPIPE is ignored: a reader
// that has seen enough shows as EPIPE on stdout.
void install_signal_handlers();

// What a Ctrl-C that ends the process does first, such as bringing back the modes of the terminal. It runs inside a
// signal handler. Null: nothing.
void set_last_act(void (*act)());

// May lie inside another one, whose flag it then shares.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // True from the first Ctrl-C on. Valid while the scope lives; may be read by any thread.
  const std::atomic<bool>& requested() const;
  // Whether there was a Ctrl-C; it is dealt with now, and the next one is a first one again.
  bool take() const;

 private:
  bool is_outermost_;
};

}  // namespace vitrine::cli
