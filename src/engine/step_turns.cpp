#include "engine/step_turns.h"

namespace vitrine::engine {

void StepTurns::take() {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] { return now_serving_ == ticket; });
}

void StepTurns::give_back() {
  {
    const std::scoped_lock lock(mutex_);
    ++now_serving_;
  }
  changed_.notify_all();
}

}  // namespace vitrine::engine
