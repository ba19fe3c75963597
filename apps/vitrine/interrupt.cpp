#include "vitrine/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "base/result.h"

namespace vitrine::cli {
namespace {

// Process-wide state: a signal handler can reach nothing else.
std::atomic<bool> interrupt_requested{false};
std::atomic<bool> command_polls{false};
std::atomic<void (*)()> last_act{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<void (*)()>::is_always_lock_free);

void on_interrupt(int /*signal*/) {
  if (command_polls.load() && !interrupt_requested.exchange(true)) return;
  if (const auto act = last_act.load()) act();
  ::_exit(static_cast<int>(base::ErrorKind::kInterrupted));
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // output goes on; poll() is interrupted all the same
  ::sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

void set_last_act(void (*act)()) {
  last_act.store(act);
}

InterruptScope::InterruptScope() : is_outermost_(!command_polls.exchange(true)) {}

InterruptScope::~InterruptScope() {
  if (!is_outermost_) return;
  command_polls.store(false);
  interrupt_requested.store(false);
}

const std::atomic<bool>& InterruptScope::requested() const {
  return interrupt_requested;
}

bool InterruptScope::take() const {
  return interrupt_requested.exchange(false);
}

}  // namespace vitrine::cli
