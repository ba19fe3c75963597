#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "engine/engine_fixture.h"
#include "engine/engine_thread.h"

namespace vitrine::engine {
namespace {

TEST(Errand, IsCalledOnceAfterEachStepUntilItHasEnded) {
  TestEngine test;
  const Request request = seeded_request(random_prompt(20, 3), 30, 5);
  const Generation& answer = test.submit(request);
  int num_calls = 0;
  test.engine().run_between_steps([&] { return ++num_calls < 3; });
  for (int step = 1; step <= 5; ++step) {
    test.step();
    EXPECT_EQ(num_calls, std::min(step, 3));
  }
  test.run();
  EXPECT_EQ(num_calls, 3);
  EXPECT_EQ(answer.token_ids, reference_answer(request));
}

TEST(Errand, TwoRunOneAfterTheOther) {
  TestEngine test;
  std::string order;
  test.engine().run_between_steps([&] { return (order += 'a').size() < 2; });
  test.engine().run_between_steps([&] { return (order += 'b').size() < 4; });
  EXPECT_TRUE(test.engine().has_work());
  test.run();
  EXPECT_EQ(order, "aabb");
  EXPECT_EQ(test.engine().stats().num_steps, 0U) << "nothing was computed";
}

TEST(Errand, MayAskForAnother) {
  TestEngine test;
  bool has_run = false;
  test.engine().run_between_steps([&] {
    test.engine().run_between_steps([&] {
      has_run = true;
      return false;
    });
    return false;
  });
  test.run();
  EXPECT_TRUE(has_run);
}

TEST(Errand, WakesAThreadThatHasNothingToDo) {
  TestEngine test;
  EngineThread thread(test.engine(), [](const std::string& what) { FAIL() << what; });
  std::latch ended(1);
  std::atomic<std::thread::id> runner;
  test.engine().run_between_steps([&] {
    runner = std::this_thread::get_id();
    ended.count_down();
    return false;
  });
  ended.wait();
  EXPECT_NE(runner.load(), std::this_thread::get_id());
}

TEST(Errand, WhatHasNotRunIsDroppedWithTheEngine) {
  const auto owned = std::make_shared<int>(1);
  {
    TestEngine test;
    test.engine().run_between_steps([owned] { return true; });
    EXPECT_EQ(owned.use_count(), 2);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

// A request that is paused and aborted beside an errand leaves nothing behind that would keep the next one waiting.
TEST(Errand, TheNextRequestBeginsAfterAPausedOneWentBesideIt) {
  TestEngine test;
  EngineThread thread(test.engine(), [](const std::string& what) { FAIL() << what; });
  const auto id = test.engine().submit(greedy_request(random_prompt(20, 1), 1000), [](const TokenEvent&) {});
  ASSERT_TRUE(id);
  test.engine().pause(*id);
  test.engine().run_between_steps([] { return false; });
  test.engine().abort(*id);
  std::latch ended(1);
  ASSERT_TRUE(test.engine().submit(greedy_request(random_prompt(5, 2), 2), [&](const TokenEvent& event) {
    if (event.finish_reason) ended.count_down();
  }));
  ended.wait();
}

}  // namespace
}  // namespace vitrine::engine
