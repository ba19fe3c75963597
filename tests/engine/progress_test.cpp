#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "engine/engine_fixture.h"

namespace vitrine::engine {
namespace {

constexpr std::chrono::milliseconds kAtOnce{0};

// Requests that asked for their progress, and what they heard.
class ProgressOfRequests {
 public:
  explicit ProgressOfRequests(EngineConfig config) : test_(config) {}

  RequestId submit(std::size_t prompt_tokens, std::size_t max_tokens, const std::string& tenant = {},
                   bool asks = true) {
    Request request = greedy_request(random_prompt(prompt_tokens, next_seed_++), max_tokens);
    request.ignore_eos = true;
    request.tenant = tenant;
    request.progress = asks;
    const auto note = [this](const TokenEvent& event) {
      if (!event.progress) return void(has_token_[event.request] = has_token_[event.request] || event.token);
      EXPECT_FALSE(event.token || event.finish_reason);
      EXPECT_FALSE(has_token_[event.request]) << "progress after a token";
      heard_[event.request].push_back(*event.progress);
    };
    return test_.engine().submit(std::move(request), note).value_or_throw();
  }
  void step() { test_.step(); }
  void run() { test_.run(); }
  EngineSnapshot snapshot() { return test_.engine().snapshot(); }

  const std::vector<Progress>& heard(RequestId id) { return heard_[id]; }
  std::vector<std::size_t> places(RequestId id) {
    std::vector<std::size_t> all;
    for (const Progress& progress : heard_[id]) {
      if (!progress.is_running) all.push_back(progress.num_ahead);
    }
    return all;
  }
  std::vector<std::size_t> computed(RequestId id) {
    std::vector<std::size_t> all;
    for (const Progress& progress : heard_[id]) {
      if (progress.is_running) all.push_back(progress.computed_tokens);
    }
    return all;
  }

 private:
  std::map<RequestId, std::vector<Progress>> heard_;
  std::map<RequestId, bool> has_token_;
  unsigned next_seed_ = 1;
  TestEngine test_;
};

TEST(Progress, IsToldAfterEachChunkOfThePrompt) {
  ProgressOfRequests requests({.max_chunk_tokens = 16});
  const RequestId id = requests.submit(40, 4);
  requests.run();
  EXPECT_EQ(requests.computed(id), (std::vector<std::size_t>{0, 16, 32, 40}));
  for (const Progress& progress : requests.heard(id))
    EXPECT_EQ(progress.prompt_tokens, 40U);
}

TEST(Progress, BeginsWithWhatTheCacheHad) {
  TestEngine test({.max_chunk_tokens = 16});
  test.answer_to(greedy_request(random_prompt(40, 1), 1));
  std::vector<Progress> heard;
  Request again = greedy_request(random_prompt(40, 1), 1);
  again.progress = true;
  ASSERT_TRUE(test.engine().submit(again, [&](const TokenEvent& event) {
    if (event.progress) heard.push_back(*event.progress);
  }));
  test.run();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].computed_tokens, 32U);
  EXPECT_EQ(heard[0].cached_tokens, 32U);
  EXPECT_EQ(heard[1].computed_tokens, 40U);
}

TEST(Progress, APlaceIsToldWhenItChangesAndCountsThoseAhead) {
  ProgressOfRequests requests({.max_sequences = 1, .place_interval = kAtOnce});
  requests.submit(20, 5);
  requests.submit(20, 5);
  const RequestId third = requests.submit(20, 5);
  for (int i = 0; i < 3; ++i)
    requests.step();
  EXPECT_EQ(requests.places(third), (std::vector<std::size_t>{1}));
  requests.run();
  EXPECT_EQ(requests.places(third), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(requests.computed(third), (std::vector<std::size_t>{0, 20}));
}

TEST(Progress, PlacesAreToldNoMoreOftenThanTheInterval) {
  ProgressOfRequests requests({.max_sequences = 1, .place_interval = std::chrono::hours(1)});
  for (int i = 0; i < 3; ++i)
    requests.submit(20, 5);
  const RequestId last = requests.submit(20, 5);
  requests.run();
  EXPECT_EQ(requests.places(last), (std::vector<std::size_t>{2}));
}

TEST(Progress, TenantsTakeTurnsInTheOrderThatIsTold) {
  ProgressOfRequests requests({.max_sequences = 1, .place_interval = kAtOnce});
  requests.submit(20, 5, "busy");
  const RequestId second = requests.submit(20, 5, "busy");
  const RequestId third = requests.submit(20, 5, "busy");
  const RequestId other = requests.submit(20, 5, "other");
  requests.step();
  requests.step();
  EXPECT_EQ(requests.places(other).back(), 0U);
  EXPECT_EQ(requests.places(second).back(), 1U);
  EXPECT_EQ(requests.places(third).back(), 2U);
  for (const SequenceStats& sequence : requests.snapshot().sequences) {
    if (sequence.id == other) {
      EXPECT_EQ(sequence.num_ahead, 0U);
    }
    if (sequence.id == third) {
      EXPECT_EQ(sequence.num_ahead, 2U);
    }
    EXPECT_EQ(sequence.num_ahead.has_value(), !sequence.is_running);
  }
  requests.run();
}

TEST(Progress, IsNotToldToWhoDidNotAsk) {
  ProgressOfRequests requests({.max_sequences = 1, .place_interval = kAtOnce});
  requests.submit(20, 5);
  const RequestId silent = requests.submit(20, 5, {}, false);
  requests.run();
  EXPECT_TRUE(requests.heard(silent).empty());
}

}  // namespace
}  // namespace vitrine::engine
