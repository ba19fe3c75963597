#include "engine/step_turns.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace vitrine::engine {
namespace {

TEST(StepTurns, OneAtATime) {
  StepTurns turns;
  int num_inside = 0;
  bool was_shared = false;
  const auto work = [&] {
    for (int i = 0; i < 500; ++i) {
      const StepTurns::Turn turn(turns);
      was_shared = was_shared || ++num_inside != 1;
      --num_inside;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(work);
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_FALSE(was_shared);
}

// A plain lock would go to whoever gives it back and asks for it again at once.
TEST(StepTurns, WhoeverWaitsIsNextHoweverBusyTheOtherIs) {
  StepTurns turns;
  std::atomic<bool> is_done = false;
  std::atomic<int> num_steps = 0;
  std::thread busy([&] {
    while (!is_done) {
      const StepTurns::Turn turn(turns);
      ++num_steps;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  while (num_steps == 0)
    std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const int before = num_steps;
    const StepTurns::Turn turn(turns);
    EXPECT_LE(num_steps - before, 2);  // the one that runs, and one that was ahead in the queue
  }
  is_done = true;
  busy.join();
}

}  // namespace
}  // namespace vitrine::engine
