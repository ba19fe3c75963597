// The same request gives the same tokens whatever the chunk size, the prefix cache, its neighbours or preemption.
#include <gtest/gtest.h>

#include "engine/engine_fixture.h"

namespace vitrine::engine {
namespace {

constexpr std::size_t kPromptTokens = 300;
constexpr std::size_t kMaxTokens = 40;

Request subject() {
  return seeded_request(random_prompt(kPromptTokens, 1), kMaxTokens, 7);
}

// Some share the subject's beginning, some do not.
Request neighbour(unsigned idx) {
  auto prompt = subject().prompt;
  prompt.resize(20 + 37 * idx);
  if (idx % 2 == 0) prompt[idx * 3] = 61;
  return seeded_request(std::move(prompt), 20 + 5 * idx, idx);
}

class BitExactness : public ::testing::TestWithParam<std::size_t> {
 protected:
  EngineConfig config() const { return {.max_sequences = 8, .max_chunk_tokens = GetParam()}; }
};

TEST_P(BitExactness, DoesNotDependOnTheChunkSize) {
  TestEngine test(config());
  EXPECT_EQ(test.answer_to(subject()).token_ids, reference_answer(subject()));
  EXPECT_LE(test.model().max_rows_of_a_step(), std::max<std::size_t>(GetParam(), 1));
}

TEST_P(BitExactness, DoesNotDependOnThePrefixCache) {
  TestEngine test(config());
  const auto& first = test.answer_to(subject());
  const auto& second = test.answer_to(subject());
  EXPECT_EQ(first.last.cached_tokens, 0);
  EXPECT_EQ(second.last.cached_tokens, 288);
  EXPECT_EQ(second.token_ids, reference_answer(subject()));
}

TEST_P(BitExactness, DoesNotDependOnNeighbours) {
  EngineConfig crowd = config();
  crowd.kv_memory_bytes = kv_bytes_of_blocks(400);
  TestEngine test(crowd);
  std::vector<const Generation*> others;
  for (unsigned i = 0; i < 4; ++i) {
    others.push_back(&test.submit(neighbour(i)));
  }
  for (int i = 0; i < 3; ++i) {
    test.step();
  }
  const auto& answer = test.submit(subject());
  for (unsigned i = 4; i < 7; ++i) {
    others.push_back(&test.submit(neighbour(i)));
  }
  test.run();
  EXPECT_EQ(answer.token_ids, reference_answer(subject()));
  for (unsigned i = 0; i < 7; ++i) {
    EXPECT_EQ(others[i]->token_ids, reference_answer(neighbour(i))) << "neighbour " << i;
  }
}

TEST_P(BitExactness, DoesNotDependOnPreemption) {
  EngineConfig tight = config();
  tight.kv_memory_bytes = kv_bytes_of_blocks(24);
  TestEngine test(tight);
  std::vector<const Generation*> others;
  for (unsigned i = 0; i < 5; ++i) {
    others.push_back(&test.submit(seeded_request(random_prompt(30, 50 + i), 150, i)));
  }
  test.run();
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(others[i]->token_ids, reference_answer(seeded_request(random_prompt(30, 50 + i), 150, i)));
  }
  EXPECT_GT(test.engine().stats().num_preemptions, 0);
}

INSTANTIATE_TEST_SUITE_P(ChunkSizes, BitExactness, ::testing::Values(1, 7, 64, 512));

}  // namespace
}  // namespace vitrine::engine
