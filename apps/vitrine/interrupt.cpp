#include "vitrine/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "base/result.h"

namespace vitrine::cli {
namespace {

// The one piece of process-wide state: a signal handler can reach nothing else.
std::atomic<bool> interrupt_requested{false};
std::atomic<bool> command_polls{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int /*signal*/) {
  if (command_polls.load() && !interrupt_requested.exchange(true)) return;
  ::_exit(static_cast<int>(base::ErrorKind::kInterrupted));
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

InterruptScope::InterruptScope() {
  command_polls.store(true);
}

InterruptScope::~InterruptScope() {
  command_polls.store(false);
  interrupt_requested.store(false);
}

const std::atomic<bool>& InterruptScope::requested() const {
  return interrupt_requested;
}

}  // namespace vitrine::cli
