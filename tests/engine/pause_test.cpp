#include <gtest/gtest.h>

#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/engine_fixture.h"
#include "support/random_seed.h"

namespace vitrine::engine {
namespace {

EngineConfig small_engine(std::size_t max_sequences, std::size_t num_blocks) {
  EngineConfig config;
  config.max_sequences = max_sequences;
  config.kv_memory_bytes = kv_bytes_of_blocks(num_blocks);
  return config;
}

void run_steps(TestEngine& test, int count) {
  for (int i = 0; i < count; ++i)
    test.step();
}

// Resumed, it gets the answer that it would have had without the pause.
void expect_goes_on(TestEngine& test, const Generation& paused, const Request& request) {
  test.engine().resume(paused.last.request);
  test.run();
  EXPECT_EQ(paused.token_ids, reference_answer(request));
}

TEST(Pause, StopsARequestAtOnceAndChangesNoTokenOfIt) {
  TestEngine test(small_engine(2, 64));
  const Request request = seeded_request(random_prompt(40, 1), 60, 7);
  const Generation& paused = test.submit(request);
  const Generation& other = test.submit(seeded_request(random_prompt(30, 2), 60, 8));
  run_steps(test, 10);
  const std::size_t num_tokens = paused.token_ids.size();
  test.engine().pause(paused.last.request);
  run_steps(test, 20);
  EXPECT_EQ(paused.token_ids.size(), num_tokens);
  EXPECT_EQ(other.token_ids.size(), num_tokens + 20);
  expect_goes_on(test, paused, request);
}

TEST(Pause, GivesItsPlaceToWhoeverWaits) {
  TestEngine test(small_engine(1, 64));
  const Request request = seeded_request(random_prompt(100, 3), 50, 9);
  const Generation& paused = test.submit(request);
  run_steps(test, 10);
  const Request next = seeded_request(random_prompt(20, 4), 30, 10);
  const Generation& waiting = test.submit(next);
  run_steps(test, 5);
  EXPECT_TRUE(waiting.token_ids.empty());
  test.engine().pause(paused.last.request);
  run_steps(test, 40);
  EXPECT_EQ(waiting.token_ids, reference_answer(next));
  expect_goes_on(test, paused, request);
}

TEST(Pause, GivesItsBlocksToWhoeverNeedsThem) {
  TestEngine test(small_engine(2, 16));
  const Request request = seeded_request(random_prompt(100, 3), 100, 9);
  const Generation& paused = test.submit(request);
  const Request growing = seeded_request(random_prompt(30, 4), 200, 10);
  const Generation& other = test.submit(growing);
  run_steps(test, 5);
  test.engine().pause(paused.last.request);
  run_steps(test, 200);
  EXPECT_EQ(other.token_ids, reference_answer(growing));
  expect_goes_on(test, paused, request);
}

TEST(Pause, OfAllLeavesTheEngineAsleepUntilOneGoesOnOrEnds) {
  TestEngine test(small_engine(2, 64));
  const Generation& first = test.submit(greedy_request(random_prompt(20, 5), 30));
  const Generation& second = test.submit(greedy_request(random_prompt(20, 6), 30));
  run_steps(test, 5);
  test.engine().pause(first.last.request);
  test.engine().pause(second.last.request);
  test.step();
  std::stop_source stop;
  bool had_work = true;
  std::thread waiter([&] { had_work = test.engine().wait_for_work(stop.get_token()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stop.request_stop();
  waiter.join();
  EXPECT_FALSE(had_work);
  test.engine().abort(first.last.request);
  EXPECT_TRUE(test.engine().wait_for_work({}));
  test.step();
  EXPECT_EQ(first.last.finish_reason, FinishReason::kAbort);
  test.engine().resume(second.last.request);
  EXPECT_TRUE(test.engine().wait_for_work({}));
  test.run();
  EXPECT_EQ(second.token_ids.size(), 30);
}

TEST(Pause, AtRandomMomentsChangesNoAnswer) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  TestEngine test(small_engine(4, 20));
  std::vector<Request> requests;
  std::vector<const Generation*> answers;
  for (unsigned i = 0; i < 24; ++i) {
    requests.push_back(seeded_request(random_prompt(1 + random() % 90, i), 1 + random() % 60, i));
    answers.push_back(&test.submit(requests.back()));
  }
  for (int i = 0; i < 2000; ++i) {
    const RequestId id = answers[random() % answers.size()]->last.request;
    random() % 2 == 0 ? test.engine().pause(id) : test.engine().resume(id);
    test.step();
    if (HasFatalFailure()) return;
  }
  for (const Generation* answer : answers)
    test.engine().resume(answer->last.request);
  test.run();
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i]->token_ids, reference_answer(requests[i])) << i;
}

}  // namespace
}  // namespace vitrine::engine
