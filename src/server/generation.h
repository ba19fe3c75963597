#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "chat/answer_text.h"
#include "engine/request.h"
#include "server/awaitable.h"
#include "server/request_trace.h"
#include "server/served_model.h"
#include "server/usage.h"

namespace vitrine::server {

// A token of an answer and how probable it was.
struct TokenScore {
  TokenId id = -1;
  float logprob = 0.0F;
  std::vector<sampling::TokenLogprob> top;
};

// News of one choice: the text that became final, and what belongs to it.
struct ChoiceDelta {
  std::size_t choice = 0;
  std::string text = {};
  std::vector<TokenScore> scores = {};                     // where log-probabilities were asked for
  std::vector<float> embedding = {};                       // where it was asked for
  std::optional<engine::FinishReason> finish_reason = {};  // the choice's last news
  std::string error = {};                                  // with FinishReason::kError
  std::optional<engine::Progress> progress = {};           // where it was asked for: alone, before all other news
};

// How a request went. Times are in seconds; those of the engine and the tokens are the first choice's.
struct GenerationReport {
  Usage usage;
  engine::RequestTimings timings;
  engine::RequestTimings last_timings;               // of the choice that had news last
  std::optional<kvcache::PrefixExplanation> prefix;  // of the first choice's prompt; nothing where none is cached
  std::vector<double> token_times_s;  // when each token came, from the moment at which the request was submitted
  double total_s = 0.0;               // to the last token of all choices
  std::vector<engine::FinishReason> finish_reasons;  // of each choice that has ended, in the order of their ends
};

// The choices of one request on their way through the engine: token events come in on the engine thread, text goes out
// on the thread of the sockets. When this dies early the engine drops its sequences within one step; when the reader
// is some hundred tokens behind they pause.
class Generation {
 public:
  // The model and the trace must outlive this.
  Generation(asio::any_io_executor executor, const ServedModel& model, const std::vector<std::string>& stops,
             RequestTrace& trace);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Submits one choice; they are counted from 0. Choices of one prompt follow each other: `is_same_prompt` says that
  // this one's prompt is not to be counted again. The engine must find the request valid. Throws ApiException. May run
  // on any thread, before the first wait.
  void add(engine::Request request, bool is_same_prompt);

  // What has come since the last call; nothing after `patience`. Waits for none once all have ended.
  Awaitable<std::vector<ChoiceDelta>> wait(std::chrono::milliseconds patience);
  bool has_ended() const { return num_running_ == 0; }
  // The first choice as the engine knows it.
  std::optional<engine::RequestId> first_id() const { return choices_.empty() ? std::nullopt : choices_.front().id; }
  std::chrono::steady_clock::time_point began() const { return began_; }
  // Ends every choice with kAbort within one step. Any thread.
  void abort();
  // Waits until the engine has nothing of it any more: it learns of a stop string within one step.
  Awaitable<void> settle();
  // When the last token that was wanted came.
  std::chrono::steady_clock::time_point answered() const { return answered_; }
  // The time since the request came, divided; while the engine worked it is the engine's.
  trace::Parts parts() const;

  const ServedModel& model() const { return model_; }
  // Of what was taken so far.
  const GenerationReport& report() const { return report_; }

 private:
  class Inbox;
  struct Choice {
    chat::AnswerText text;
    std::optional<engine::RequestId> id = {};
    bool counts_prompt = true;
    bool has_ended = false;
    std::size_t completion_tokens = 0;
    std::vector<TokenScore> held_scores = {};  // of tokens whose text is still held back
  };

  base::Result<engine::RequestId> submit(engine::Request request, std::size_t index);
  void record(engine::Request& request);
  std::vector<ChoiceDelta> take();
  void note_delivery(std::chrono::steady_clock::time_point came);
  void take_event(std::size_t index, const engine::TokenEvent& event, std::vector<ChoiceDelta>& news);
  void count(Choice& choice, const engine::TokenEvent& event);

  const ServedModel& model_;
  std::vector<std::string> stops_;
  RequestTrace& trace_;
  std::vector<Choice> choices_;
  std::size_t num_running_ = 0;
  std::size_t num_in_engine_ = 0;
  GenerationReport report_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point answered_ = began_;
  std::shared_ptr<Inbox> inbox_;  // shared with callbacks that the engine may still hold when this dies
};

}  // namespace vitrine::server
