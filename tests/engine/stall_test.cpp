#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "engine/engine_fixture.h"
#include "engine/engine_thread.h"

namespace vitrine::engine {
namespace {

using namespace std::chrono_literals;

EngineConfig impatient_engine() {
  EngineConfig config;
  config.stall_limit = 50ms;
  return config;
}

// Waits for at most five seconds.
bool becomes(const Engine& engine, bool is_stalled) {
  for (int i = 0; i < 1000 && engine.is_stalled() != is_stalled; ++i)
    std::this_thread::sleep_for(5ms);
  return engine.is_stalled() == is_stalled;
}

TEST(Stall, IsSeenWhileOneWaitsAndNothingGetsOn) {
  TestEngine test(impatient_engine());
  test.submit(greedy_request(random_prompt(20, 1), 30));
  EXPECT_FALSE(test.engine().is_stalled());
  std::this_thread::sleep_for(60ms);
  EXPECT_TRUE(test.engine().is_stalled()) << "nobody steps";
  test.run();
  EXPECT_FALSE(test.engine().is_stalled());
  std::this_thread::sleep_for(60ms);
  EXPECT_FALSE(test.engine().is_stalled()) << "nobody waits";
  test.submit(greedy_request(random_prompt(20, 2), 30));
  EXPECT_FALSE(test.engine().is_stalled()) << "time without work does not count";
}

TEST(Stall, OfTheEnginesThreadIsSeenFromOthersAndOver) {
  TestEngine test(impatient_engine());
  std::latch go_on(1);
  std::atomic<bool> has_ended = false;
  EngineThread thread(test.engine(), [](const std::string& what) { FAIL() << what; });
  ASSERT_TRUE(test.engine().submit(greedy_request(random_prompt(20, 1), 3), [&](const TokenEvent&) { go_on.wait(); }));
  ASSERT_TRUE(test.engine().submit(greedy_request(random_prompt(20, 2), 3),
                                   [&](const TokenEvent& event) { has_ended = event.finish_reason.has_value(); }));
  EXPECT_TRUE(becomes(test.engine(), true));
  go_on.count_down();
  EXPECT_TRUE(becomes(test.engine(), false));
  while (!has_ended)
    std::this_thread::sleep_for(1ms);
}

TEST(Stall, OfARunningRequestIsSeenThoughNobodyWaits) {
  TestEngine test(impatient_engine());
  std::latch go_on(1);
  std::atomic<bool> has_ended = false;
  EngineThread thread(test.engine(), [](const std::string& what) { FAIL() << what; });
  ASSERT_TRUE(test.engine().submit(greedy_request(random_prompt(20, 1), 3), [&](const TokenEvent& event) {
    go_on.wait();
    has_ended = event.finish_reason.has_value();
  }));
  EXPECT_TRUE(becomes(test.engine(), true));
  go_on.count_down();
  EXPECT_TRUE(becomes(test.engine(), false));
  while (!has_ended)
    std::this_thread::sleep_for(1ms);
}

// Each of its three layers takes most of the limit.
class SlowModel : public FakeModel {
 public:
  void forward(const models::ForwardBatch& batch, kvcache::KvCache& cache, models::Workspace& workspace,
               models::ForwardObserver* observer) const override {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(200ms);
      EXPECT_FALSE(engine->is_stalled()) << i;
      batch.heartbeat->beat();
    }
    FakeModel::forward(batch, cache, workspace, observer);
  }
  const Engine* engine = nullptr;
};

TEST(Stall, IsNoneWhileTheLayersOfALongStepGoOn) {
  EngineConfig config;
  config.stall_limit = 400ms;
  SlowModel model;
  base::MemoryLedger ledger;
  const auto engine = Engine::create(model, config, ledger).value_or_throw();
  model.engine = engine.get();
  for (unsigned seed = 0; seed < 2; ++seed)
    ASSERT_TRUE(engine->submit(greedy_request(random_prompt(20, seed), 1), [](const TokenEvent&) {}));
  engine->step();
  EXPECT_FALSE(engine->is_stalled());
}

TEST(Stall, IsNoneWhileAnswersGoOnThatOthersWaitFor) {
  TestEngine test(impatient_engine());
  test.submit(greedy_request(random_prompt(20, 1), 400));
  test.submit(greedy_request(random_prompt(20, 2), 1));
  for (int i = 0; i < 30; ++i) {
    test.step();
    std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(test.engine().is_stalled()) << i;
  }
}

}  // namespace
}  // namespace vitrine::engine
