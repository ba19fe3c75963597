#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/fake_model.h"
#include "engine/generate.h"

namespace vitrine::engine {

// An engine over the fake model that checks its invariants after every step.
class TestEngine {
 public:
  explicit TestEngine(EngineConfig config = {})
      : model_(config.publish_answers), engine_(Engine::create(model_, config, ledger_).value_or_throw()) {}

  // Queues a request; its answer fills up while the engine runs and stays where it is.
  const Generation& submit(Request request) {
    Generation& answer = answers_.emplace_back();
    const auto id = engine_->submit(std::move(request), [&answer](const TokenEvent& event) {
      EXPECT_FALSE(answer.last.finish_reason) << "an event after the last one";
      if (event.token) answer.token_ids.push_back(*event.token);
      answer.last = event;
    });
    EXPECT_TRUE(id) << id.error().message;
    answer.last.request = *id;
    return answer;
  }
  void step() {
    engine_->step();
    ASSERT_EQ(engine_->check_integrity(), "");
  }
  void run() {
    for (int i = 0; engine_->has_work(); ++i) {
      ASSERT_LT(i, 100'000) << "the engine does not come to an end";
      step();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  const Generation& answer_to(Request request) {
    const Generation& answer = submit(std::move(request));
    run();
    return answer;
  }

  Engine& engine() { return *engine_; }
  const FakeModel& model() const { return model_; }
  const base::MemoryLedger& ledger() const { return ledger_; }

 private:
  base::MemoryLedger ledger_;
  FakeModel model_;
  std::unique_ptr<Engine> engine_;
  std::deque<Generation> answers_;
};

inline Request greedy_request(std::vector<TokenId> prompt, std::size_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  return request;
}

inline Request seeded_request(std::vector<TokenId> prompt, std::size_t max_tokens, std::uint64_t seed) {
  Request request = greedy_request(std::move(prompt), max_tokens);
  request.sampling.temperature = 0.8F;
  request.sampling.seed = seed;
  return request;
}

inline std::size_t kv_bytes_of_blocks(std::size_t num_blocks) {
  return num_blocks * kvcache::block_bytes(FakeModel().kv_shape(tensor::DType::kF16)).value_or_throw();
}

}  // namespace vitrine::engine
