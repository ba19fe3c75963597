#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

namespace vitrine::server {

// The answers that one model has in hand, from their admission to their end. Only so many may wait for their turn: more
// are refused at once, with the time after which a place is likely to be free. Used on the thread of the sockets.
class AnswerQueue {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    std::size_t max_running = 1;     // as the engine runs at once
    std::size_t max_waiting = 1024;  // one request may exceed it by its own answers
  };
  AnswerQueue(std::string model, Limits limits) : model_(std::move(model)), limits_(limits) {}
  AnswerQueue(const AnswerQueue&) = delete;
  AnswerQueue& operator=(const AnswerQueue&) = delete;

  // One request's answers are in hand as long as this lives.
  class Place {
   public:
    Place(AnswerQueue& queue, std::size_t num_answers) : queue_(queue), num_answers_(num_answers) {
      queue_.admit(num_answers_, Clock::now());
    }
    ~Place() { queue_.leave(num_answers_, Clock::now()); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    AnswerQueue& queue_;
    std::size_t num_answers_;
  };
  // Throws ApiException: 503 with Retry-After where the queue is full.
  void admit(std::size_t num_answers, Clock::time_point now);
  void leave(std::size_t num_answers, Clock::time_point now);

  // How many answers must end before the next one runs.
  std::size_t num_ahead() const {
    return num_in_hand_ < limits_.max_running ? 0 : num_in_hand_ - limits_.max_running + 1;
  }
  // When the client that is refused next should ask again: those refused before it get the places before it. In whole
  // seconds, as Retry-After has it.
  std::chrono::seconds retry_after(Clock::time_point now) const;

 private:
  std::string model_;
  Limits limits_;
  std::size_t num_in_hand_ = 0;
  std::size_t num_refused_ = 0;         // since a place became free
  std::deque<Clock::time_point> ends_;  // of the last answers
};

}  // namespace vitrine::server
