#include "server/answer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

using Time = AnswerQueue::Clock::time_point;

ApiError refusal_of(AnswerQueue& queue, Time now) {
  try {
    queue.admit(1, now);
  } catch (const ApiException& exception) {
    return exception.error();
  }
  ADD_FAILURE() << "it was admitted";
  return {};
}

TEST(AnswerQueue, RefusesWhatWouldWaitBehindAFullQueue) {
  AnswerQueue queue("small", {.max_running = 1, .max_waiting = 2});
  const AnswerQueue::Place first(queue, 1);
  EXPECT_EQ(queue.num_ahead(), 1);
  {
    const AnswerQueue::Place second(queue, 2);
    const ApiError refusal = refusal_of(queue, Time::clock::now());
    EXPECT_EQ(refusal.status, 503);
    EXPECT_EQ(refusal.code, "queue_full");
    EXPECT_THAT(refusal.message, HasSubstr("queue of small is full: 1 answers run, 2 wait"));
    ASSERT_EQ(refusal.headers.size(), 1);
    EXPECT_EQ(refusal.headers[0].first, "retry-after");
  }
  const AnswerQueue::Place third(queue, 1);
  EXPECT_EQ(queue.num_ahead(), 2);
}

TEST(AnswerQueue, AnswersThatRunNeedNoQueue) {
  AnswerQueue queue("idle", {.max_running = 2, .max_waiting = 0});
  EXPECT_EQ(queue.num_ahead(), 0);
  queue.admit(2, Time{});
  EXPECT_EQ(refusal_of(queue, Time{}).status, 503);
  queue.leave(2, Time{});
  queue.admit(1, Time{});
}

TEST(AnswerQueue, SpreadsTheRefusedOverTheTimesAtWhichPlacesBecomeFree) {
  AnswerQueue queue("slow", {.max_running = 1, .max_waiting = 0});
  Time now{};
  queue.admit(1, now);
  EXPECT_EQ(queue.retry_after(now), seconds(5)) << "nothing is known yet";
  for (int i = 0; i < 10; ++i) {
    now += seconds(3);
    queue.leave(1, now);
    queue.admit(1, now);
  }
  now += seconds(3);
  EXPECT_EQ(queue.retry_after(now), seconds(3));
  refusal_of(queue, now);
  EXPECT_EQ(queue.retry_after(now), seconds(6));
  refusal_of(queue, now);
  EXPECT_EQ(queue.retry_after(now), seconds(9));
  queue.leave(1, now);
  EXPECT_LT(queue.retry_after(now), seconds(7)) << "one of the two got its place";
}

}  // namespace
}  // namespace vitrine::server
