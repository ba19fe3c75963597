#include "server/answer_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

constexpr std::size_t kNumEnds = 32;
// While no two answers have ended yet.
constexpr std::chrono::seconds kFirstGuess{5};
constexpr std::chrono::seconds kLongestWait{600};

}  // namespace

void AnswerQueue::admit(std::size_t num_answers, Clock::time_point now) {
  if (num_in_hand_ >= limits_.max_running + limits_.max_waiting) {
    const auto wait = retry_after(now);
    ++num_refused_;
    throw ApiException(
        {.status = 503,
         .message = fmt::format("the queue of {} is full: {} answers run, {} wait; ask again in {} s", model_,
                                limits_.max_running, num_in_hand_ - limits_.max_running, wait.count()),
         .code = "queue_full",
         .headers = {{"retry-after", fmt::format("{}", wait.count())}}});
  }
  num_in_hand_ += num_answers;
}

void AnswerQueue::leave(std::size_t num_answers, Clock::time_point now) {
  num_in_hand_ -= num_answers;
  num_refused_ -= std::min(num_refused_, num_answers);
  for (std::size_t i = 0; i < num_answers; ++i)
    ends_.push_back(now);
  while (ends_.size() > kNumEnds)
    ends_.pop_front();
}

std::chrono::seconds AnswerQueue::retry_after(Clock::time_point now) const {
  if (ends_.size() < 2) return kFirstGuess;
  const std::chrono::duration<double> span = now - ends_.front();
  const double wait_s = span.count() / static_cast<double>(ends_.size()) * static_cast<double>(num_refused_ + 1);
  return std::chrono::seconds(
      static_cast<std::int64_t>(std::ceil(std::clamp(wait_s, 1.0, static_cast<double>(kLongestWait.count())))));
}

}  // namespace vitrine::server
