#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace vitrine::engine {

// Lets engines that share the cores of one machine step one after the other, in the order in which they ask: two steps
// at once would only take each other's cores away. Any thread.
class StepTurns {
 public:
  StepTurns() = default;
  StepTurns(const StepTurns&) = delete;
  StepTurns& operator=(const StepTurns&) = delete;

  // One engine has the cores as long as this lives.
  class Turn {
   public:
    explicit Turn(StepTurns& turns) : turns_(turns) { turns_.take(); }
    ~Turn() { turns_.give_back(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    StepTurns& turns_;
  };

 private:
  void take();
  void give_back();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t now_serving_ = 0;
};

}  // namespace vitrine::engine
