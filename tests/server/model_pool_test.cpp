#include "server/model_pool.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

using std::chrono::milliseconds;
using State = ModelSlot::State;

class FakeModel final : public LoadedModel {
 public:
  FakeModel(std::string name, std::atomic<int>& num_alive) : num_alive_(num_alive) {
    served_.name = std::move(name);
    ++num_alive_;
  }
  ~FakeModel() override { --num_alive_; }
  const ServedModel& served() const override { return served_; }
  std::size_t memory_bytes() const override { return 1; }

 private:
  ServedModel served_;
  std::atomic<int>& num_alive_;
};

// A pool of models of 10 bytes each, and requests that come and go by hand.
class PoolTest : public ::testing::Test {
 protected:
  struct Request {
    std::optional<ModelLease> lease = {};
    std::string refusal = {};  // the code of the error
    bool is_over() const { return lease || !refusal.empty(); }
  };

  void make_pool(std::size_t num_at_once, ModelPool::Options options = quick()) {
    options.memory_bytes = 10 * num_at_once;
    std::vector<ModelOffer> offers;
    for (const char* name : {"a", "b", "c"})
      offers.push_back(offer(name));
    offers[1].keep_alive = keep_alive_of_b_;
    offers[1].max_waiting = max_waiting_of_b_;
    offers[2].is_pinned = pins_c_;
    pool_ = std::make_unique<ModelPool>(std::move(offers), options);
  }
  static ModelPool::Options quick() { return {.min_stay = milliseconds(0), .patience = milliseconds(20'000)}; }

  void TearDown() override {
    for (const auto& request : requests_)
      request->lease.reset();
    pool_->join();
  }

  ModelSlot& slot(char name) { return pool_->slots()[static_cast<std::size_t>(name - 'a')]; }
  State state(char name) { return slot(name).state(); }

  Request& ask(char name) {
    requests_.push_back(std::make_unique<Request>());
    Request& request = *requests_.back();
    asio::co_spawn(context_, acquire(slot(name), request), asio::detached);
    return request;
  }
  void end(Request& request) { request.lease.reset(); }
  // Lets the pool work until `is_done`; false after ten seconds.
  bool run_until(const std::function<bool()>& is_done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!is_done() && std::chrono::steady_clock::now() < deadline) {
      context_.restart();
      context_.run_for(milliseconds(2));
    }
    return is_done();
  }
  bool gets(Request& request) {
    return run_until([&] { return request.is_over(); }) && request.lease;
  }
  void idle_for(milliseconds time) {
    context_.restart();
    context_.run_for(time);
  }
  // Asks, gets and ends.
  void use(char name) {
    Request& request = ask(name);
    ASSERT_TRUE(gets(request));
    EXPECT_EQ(request.lease->model().name, std::string(1, name));
    end(request);
  }

  bool pins_c_ = false;
  std::optional<std::chrono::seconds> keep_alive_of_b_;
  std::optional<std::size_t> max_waiting_of_b_;
  std::atomic<bool> fails_ = false;
  std::atomic<int> num_alive_ = 0;
  std::atomic<int> num_loads_ = 0;
  std::vector<std::unique_ptr<Request>> requests_;
  std::unique_ptr<ModelPool> pool_;
  asio::io_context context_;  // its coroutines use the others

 private:
  ModelOffer offer(const std::string& name) {
    return {.name = name, .planned_bytes = 10, .load = [this, name]() -> std::unique_ptr<LoadedModel> {
              ++num_loads_;
              if (fails_) throw std::runtime_error("the file is gone");
              return std::make_unique<FakeModel>(name, num_alive_);
            }};
  }
  Awaitable<void> acquire(ModelSlot& slot, Request& request) {
    try {
      request.lease.emplace(co_await pool_->acquire(slot));
    } catch (const ApiException& exception) {
      request.refusal = exception.error().code;
      EXPECT_EQ(exception.error().status, 503U);
    }
  }
};

TEST_F(PoolTest, AModelIsLoadedOnceForAllWhoAskForItFirst) {
  make_pool(3);
  EXPECT_EQ(state('a'), State::kUnloaded);
  for (int i = 0; i < 5; ++i)
    ask('a');
  for (const auto& request : requests_)
    EXPECT_TRUE(gets(*request));
  EXPECT_EQ(num_loads_, 1);
  EXPECT_EQ(slot('a').num_users(), 5U);
  EXPECT_EQ(state('b'), State::kUnloaded);
}

TEST_F(PoolTest, TheOneUsedLongestAgoMakesRoom) {
  make_pool(2);
  use('a');
  use('b');
  use('a');
  use('c');
  EXPECT_EQ(state('a'), State::kReady);
  EXPECT_EQ(state('b'), State::kUnloaded);
  EXPECT_EQ(state('c'), State::kReady);
  EXPECT_EQ(num_alive_, 2);
}

TEST_F(PoolTest, AModelInUseStaysUntilItsRequestsEndAndTakesNoMore) {
  make_pool(1);
  Request& first = ask('a');
  ASSERT_TRUE(gets(first));
  Request& other = ask('b');
  idle_for(milliseconds(50));
  Request& late = ask('a');
  idle_for(milliseconds(50));
  EXPECT_EQ(state('a'), State::kReady);
  EXPECT_FALSE(other.is_over());
  EXPECT_FALSE(late.is_over());
  EXPECT_EQ(first.lease->model().name, "a");
  end(first);
  EXPECT_TRUE(gets(other));
  EXPECT_EQ(num_alive_, 1);
  end(other);
  EXPECT_TRUE(gets(late));
}

TEST_F(PoolTest, WhoWaitsForAModelGetsItBeforeItGoesAgain) {
  make_pool(1);
  std::vector<Request*> all;
  for (int i = 0; i < 12; ++i)
    all.push_back(&ask(static_cast<char>('a' + i % 3)));
  std::size_t num_served = 0;
  EXPECT_TRUE(run_until([&] {
    for (Request*& request : all) {
      if (request == nullptr || !request->lease) continue;
      end(*request);
      request = nullptr;
      ++num_served;
    }
    return num_served == 12;
  }));
  EXPECT_LE(num_loads_, 6);
}

TEST_F(PoolTest, APinnedModelMakesNoRoom) {
  pins_c_ = true;
  make_pool(2);
  use('c');
  use('a');
  use('b');
  use('a');
  EXPECT_EQ(state('c'), State::kReady);
  EXPECT_EQ(slot('c').num_loads(), 1U);
}

TEST_F(PoolTest, AFailedLoadIsToldToAllWhoWaitAndTriedAgainLater) {
  make_pool(1);
  fails_ = true;
  Request& first = ask('a');
  Request& second = ask('a');
  EXPECT_FALSE(gets(first));
  EXPECT_FALSE(gets(second));
  EXPECT_EQ(first.refusal, "model_unavailable");
  EXPECT_EQ(second.refusal, "model_unavailable");
  EXPECT_EQ(num_loads_, 1);
  fails_ = false;
  use('a');
}

TEST_F(PoolTest, WhoWaitsTooLongIsRefusedAndTheModelInUseOpensAgain) {
  ModelPool::Options options = quick();
  options.patience = milliseconds(30);
  make_pool(1, options);
  Request& first = ask('a');
  ASSERT_TRUE(gets(first));
  Request& other = ask('b');
  EXPECT_FALSE(gets(other));
  EXPECT_EQ(other.refusal, "model_busy");
  use('a');
}

TEST_F(PoolTest, AModelThatWasJustLoadedIsNotTurnedOutWhileInUse) {
  ModelPool::Options options = quick();
  options.min_stay = milliseconds(10'000);
  make_pool(1, options);
  Request& first = ask('a');
  ASSERT_TRUE(gets(first));
  ask('b');
  idle_for(milliseconds(30));
  use('a');
  end(first);
  EXPECT_TRUE(gets(*requests_[1]));
}

TEST_F(PoolTest, NoMoreWaitThanMayWait) {
  ModelPool::Options options = quick();
  options.max_waiting = 2;
  make_pool(1, options);
  Request& first = ask('a');
  ASSERT_TRUE(gets(first));
  ask('b');
  ask('b');
  Request& third = ask('b');
  EXPECT_FALSE(gets(third));
  EXPECT_EQ(third.refusal, "model_busy");
}

TEST_F(PoolTest, WhatNobodyAsksForIsUnloadedAfterItsTime) {
  ModelPool::Options options = quick();
  options.keep_alive = std::chrono::seconds(0);
  make_pool(3, options);
  Request& first = ask('a');
  ASSERT_TRUE(gets(first));
  pool_->unload_idle(context_.get_executor());
  EXPECT_EQ(state('a'), State::kReady);
  end(first);
  pool_->unload_idle(context_.get_executor());
  EXPECT_TRUE(run_until([&] { return state('a') == State::kUnloaded; }));
  EXPECT_EQ(num_alive_, 0);
  use('a');
}

TEST_F(PoolTest, AModelsOwnTimeAndQueueCountBeforeThoseOfAll) {
  keep_alive_of_b_ = std::chrono::seconds(0);
  max_waiting_of_b_ = 1;
  make_pool(1);
  EXPECT_TRUE(pool_->has_keep_alive());
  use('a');
  pool_->unload_idle(context_.get_executor());
  EXPECT_EQ(state('a'), State::kReady) << "it has none, nor have all";
  Request& holder = ask('a');
  ASSERT_TRUE(gets(holder));
  Request& first = ask('b');
  Request& second = ask('b');
  EXPECT_FALSE(gets(second));
  EXPECT_EQ(second.refusal, "model_busy");
  end(holder);
  ASSERT_TRUE(gets(first));
  end(first);
  pool_->unload_idle(context_.get_executor());
  EXPECT_TRUE(run_until([&] { return state('b') == State::kUnloaded; }));
}

}  // namespace
}  // namespace vitrine::server
