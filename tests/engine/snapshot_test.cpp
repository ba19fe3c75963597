#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "engine/engine_fixture.h"
#include "engine/engine_thread.h"

namespace vitrine::engine {
namespace {

Request endless(unsigned seed) {
  Request request = greedy_request(random_prompt(40, seed), 100'000);
  request.ignore_eos = true;
  return request;
}

TEST(Snapshot, ShowsWhatRunsAndThenWhatWaits) {
  TestEngine test({.context_length = 256, .max_sequences = 1});
  const auto& first = test.submit(endless(1));
  const auto& second = test.submit(endless(2));
  test.step();
  const EngineSnapshot snapshot = test.engine().snapshot();
  ASSERT_EQ(snapshot.sequences.size(), 2U);
  const SequenceStats& running = snapshot.sequences[0];
  EXPECT_EQ(running.id, first.last.request);
  EXPECT_TRUE(running.is_running);
  EXPECT_EQ(running.prompt_tokens, 40U);
  EXPECT_EQ(running.computed_tokens, 40U);
  EXPECT_EQ(running.completion_tokens, 1U);
  EXPECT_EQ(running.num_blocks, snapshot.stats.num_blocks_in_use);
  const SequenceStats& waiting = snapshot.sequences[1];
  EXPECT_EQ(waiting.id, second.last.request);
  EXPECT_FALSE(waiting.is_running);
  EXPECT_FALSE(waiting.has_started);
  EXPECT_EQ(waiting.num_blocks, 0U);
  EXPECT_EQ(snapshot.blocks.size(), snapshot.stats.num_blocks);
  EXPECT_EQ(std::ranges::count(snapshot.blocks, 'p'), 2);  // 40 tokens fill two blocks
  test.run();
}

TEST(Snapshot, WhoeverWatchesSeesTheEngineGoOnAndItsEnd) {
  TestEngine test({.context_length = 4096});
  EngineThread thread(test.engine(), [](const std::string& what) { FAIL() << what; });
  EXPECT_TRUE(thread.watch().snapshot.sequences.empty());
  std::latch begun(1);
  std::atomic<bool> has_begun = false;
  const auto id = test.engine().submit(endless(3), [&](const TokenEvent&) {
    if (!has_begun.exchange(true)) begun.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // its tokens last for as long as anybody may look
  });
  ASSERT_TRUE(id);
  begun.wait();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto look_until = [&](std::size_t num_sequences) {
    while (thread.watch().snapshot.sequences.size() != num_sequences && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    return thread.watch().snapshot.sequences.size();
  };
  EXPECT_EQ(look_until(1), 1U);
  test.engine().abort(*id);
  EXPECT_EQ(look_until(0), 0U);
}

}  // namespace
}  // namespace vitrine::engine
