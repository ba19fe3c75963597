#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_fixture.h"

namespace vitrine::engine {
namespace {

using ::testing::HasSubstr;

Request embedding_request(std::vector<TokenId> prompt, Pooling pooling) {
  Request request = greedy_request(std::move(prompt), 0);
  request.pooling = pooling;
  return request;
}

std::vector<float> with_length_one(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values)
    squares += value * value;
  std::vector<float> scaled;
  for (const double value : values)
    scaled.push_back(static_cast<float>(value / std::sqrt(squares)));
  return scaled;
}

std::vector<float> expected_mean(const std::vector<TokenId>& prompt) {
  const auto rows = reference_hidden(prompt);
  std::vector<double> sum(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      sum[i] += static_cast<double>(row[i]);
  }
  return with_length_one(sum);
}

std::vector<float> expected_last(const std::vector<TokenId>& prompt) {
  const auto row = reference_hidden(prompt).back();
  return with_length_one({row.begin(), row.end()});
}

TEST(Embedding, PoolsTheHiddenStatesOfThePromptToLengthOne) {
  TestEngine engine;
  const auto prompt = random_prompt(100, 1);
  const Generation& mean = engine.answer_to(embedding_request(prompt, Pooling::kMean));
  EXPECT_EQ(mean.last.embedding, expected_mean(prompt));
  EXPECT_EQ(mean.last.finish_reason, FinishReason::kLength);
  EXPECT_TRUE(mean.token_ids.empty());
  EXPECT_EQ(engine.answer_to(embedding_request(prompt, Pooling::kLast)).last.embedding, expected_last(prompt));
  EXPECT_TRUE(engine.answer_to(greedy_request(prompt, 0)).last.embedding.empty());
}

TEST(Embedding, IsTheSameInChunksBesideOthersAfterPreemptionAndFromTheCache) {
  const auto prompt = random_prompt(150, 2);
  for (const std::size_t chunk : {std::size_t{7}, std::size_t{64}, std::size_t{512}}) {
    // The two answers grow until not all fit, so that the embeddings beside them are interrupted.
    TestEngine engine({.kv_memory_bytes = kv_bytes_of_blocks(18), .max_sequences = 4, .max_chunk_tokens = chunk});
    engine.submit(greedy_request(random_prompt(30, 3), 80));
    engine.submit(greedy_request(random_prompt(30, 4), 80));
    const Generation& mean = engine.submit(embedding_request(prompt, Pooling::kMean));
    const Generation& last = engine.submit(embedding_request(prompt, Pooling::kLast));
    engine.run();
    EXPECT_EQ(mean.last.embedding, expected_mean(prompt)) << "chunks of " << chunk;
    EXPECT_EQ(last.last.embedding, expected_last(prompt)) << "chunks of " << chunk;
    const Generation& again = engine.answer_to(embedding_request(prompt, Pooling::kLast));
    EXPECT_EQ(again.last.embedding, expected_last(prompt));
    EXPECT_GT(again.last.cached_tokens, 0);
    EXPECT_EQ(engine.answer_to(embedding_request(prompt, Pooling::kMean)).last.embedding, expected_mean(prompt));
  }
}

TEST(Embedding, ThatIsNotFiniteIsAFaultOfItsRequestAlone) {
  TestEngine engine({.max_sequences = 2});
  auto broken = random_prompt(20, 5);
  broken[7] = kNanToken;
  const Generation& fault = engine.submit(embedding_request(broken, Pooling::kMean));
  const Generation& whole = engine.submit(embedding_request(random_prompt(20, 6), Pooling::kMean));
  engine.run();
  EXPECT_EQ(fault.last.finish_reason, FinishReason::kError);
  EXPECT_THAT(fault.last.error, HasSubstr("not finite"));
  EXPECT_EQ(whole.last.embedding, expected_mean(random_prompt(20, 6)));
}

TEST(Embedding, GeneratesNothing) {
  TestEngine engine;
  Request request = embedding_request(random_prompt(5, 1), Pooling::kMean);
  request.max_tokens = 3;
  EXPECT_EQ(engine.engine().validate(request)->param, "max_tokens");
}

}  // namespace
}  // namespace vitrine::engine
