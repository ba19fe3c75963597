#include "engine/validate.h"

#include <gtest/gtest.h>

#include "engine/engine_fixture.h"

namespace vitrine::engine {
namespace {

constexpr RequestLimits kLimits = {.vocab_size = 64, .context_length = 100, .kv_tokens = 1000};

TEST(Validate, AcceptsAPromptThatLeavesRoomForOneToken) {
  EXPECT_FALSE(validate(greedy_request(random_prompt(99, 1), 10), kLimits));
  EXPECT_FALSE(validate(greedy_request(random_prompt(100, 1), 0), kLimits));
}

TEST(Validate, RefusesAPromptThatFillsTheContextWithBothNumbers) {
  const auto refusal = validate(greedy_request(random_prompt(100, 1), 10), kLimits);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, "context_length_exceeded");
  EXPECT_EQ(refusal->param, "prompt");
  EXPECT_EQ(refusal->message,
            "prompt: 100 tokens and 1 to generate exceed the 100 tokens that the context holds; shorten the prompt or "
            "raise --ctx");
}

TEST(Validate, NamesTheCacheWhereItIsTheNarrowerLimit) {
  const auto refusal =
      validate(greedy_request(random_prompt(50, 1), 10), {.vocab_size = 64, .context_length = 100, .kv_tokens = 48});
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message.find("48 tokens that the KV cache holds"), std::string::npos) << refusal->message;
  EXPECT_NE(refusal->message.find("--kv-memory"), std::string::npos);
}

TEST(Validate, RefusesAnEmptyPromptAndForeignTokenIds) {
  EXPECT_EQ(validate(greedy_request({}, 1), kLimits)->param, "prompt");
  EXPECT_EQ(validate(greedy_request({1, -1}, 1), kLimits)->message,
            "prompt[1]: token id -1 is not in the vocabulary; use 0 to 63");
  EXPECT_EQ(validate(greedy_request({64}, 1), kLimits)->code, "invalid_value");
  Request request = greedy_request({1}, 1);
  request.stop_tokens = {1000};
  EXPECT_EQ(validate(request, kLimits)->param, "stop_tokens");
}

TEST(Validate, RefusesSamplingParametersOutOfRange) {
  Request request = greedy_request({1}, 1);
  request.sampling.temperature = -1;
  const auto refusal = validate(request, kLimits);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->param, "temperature");
  EXPECT_NE(refusal->message.find("temperature"), std::string::npos);
}

}  // namespace
}  // namespace vitrine::engine
