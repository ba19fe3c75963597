#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "kvcache/prefix_index.h"
#include "sampling/sampler.h"
#include "sampling/sampling_params.h"

namespace vitrine::engine {

// Given out by Engine::submit in rising order; never used twice by one engine.
enum class RequestId : std::uint64_t {};

// What of a prompt's hidden states after the final norm becomes its embedding, a vector of length 1.
enum class Pooling {
  kNone,
  kLast,  // the last token's: it has seen all others
  kMean,  // the mean over all tokens
};

// What a client wants, in token ids: the engine knows no text. Immutable once submitted.
struct Request {
  std::vector<TokenId> prompt;
  sampling::SamplingParams sampling;
  // Absent: until the context is full. 0: the prompt is computed (and cached), nothing is generated.
  std::optional<std::size_t> max_tokens;
  std::vector<TokenId> stop_tokens;  // ends the answer always
  std::vector<TokenId> eog_tokens;   // the model's own end-of-generation tokens
  bool ignore_eos = false;           // go on after an eog token
  Pooling pooling = Pooling::kNone;  // else nothing is generated (max_tokens 0) and the last event has the embedding
  // Only requests with the same salt share cached prefixes. Set from the tenant by the server, never by the client
  // alone.
  std::string cache_salt;
  // Requests of equal priority run in the order of their arrival, but tenants take turns: the one served least is next.
  std::string tenant;
  int priority = 0;         // higher runs first
  bool background = false;  // computed only in steps for which no other request has anything
  bool progress = false;    // its callback hears how far it is until its first token comes: TokenEvent::progress
};

enum class FinishReason {
  kStop,    // a stop or eog token came
  kLength,  // max_tokens or the end of the context was reached
  kAbort,   // Engine::abort
  kError,   // a fault of this request alone, see TokenEvent::error
};
// As the API spells it: "stop", "length", "abort", "error".
std::string_view finish_reason_name(FinishReason reason);

// Where a request's time went, in seconds. The parts sum to the time since submit().
struct RequestTimings {
  double queue_s = 0;     // until it was begun, again after each preemption, and while it was paused
  double lookup_s = 0;    // finding its prefix in the cache, and its blocks
  double schedule_s = 0;  // scheduling the steps that it took part in
  double prefill_s = 0;   // forward passes up to the one that gave the first token
  double decode_s = 0;    // forward passes after it
  double sample_s = 0;    // choosing its tokens
  double other_s = 0;     // its neighbours' rows and sampling, the time that event callbacks take
  std::optional<double> first_token_s;

  double total_s() const { return queue_s + lookup_s + schedule_s + prefill_s + decode_s + sample_s + other_s; }
};

// How far a request without a token is.
struct Progress {
  bool is_running = false;          // its prompt is being computed; else it waits
  std::size_t num_ahead = 0;        // while it waits: those that begin before it, as things stand
  std::size_t computed_tokens = 0;  // of the prompt, cached ones included
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;  // of the prompt, taken from the prefix cache

  friend bool operator==(const Progress&, const Progress&) = default;
};

// One step's news of a request. The last event of a request, and only it, has a finish_reason.
struct TokenEvent {
  RequestId request{};
  std::optional<TokenId> token;  // absent when the request ended without a new token; a stop token is delivered as well
  std::optional<Progress> progress;  // where it was asked for; then the event has neither token nor finish_reason
  float logprob = std::numeric_limits<float>::quiet_NaN();
  std::vector<sampling::TokenLogprob> top_logprobs;
  std::optional<FinishReason> finish_reason;
  std::string error;             // kError: one line for a person
  std::vector<float> embedding;  // [hidden_size], of a request with pooling that was computed
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;
  std::size_t cached_tokens = 0;  // of the prompt, taken from the prefix cache
  // Why not more of it, as things stood when the request began; of requests with a timeline, where prefixes are cached.
  std::optional<kvcache::PrefixExplanation> prefix;
  RequestTimings timings;
};

// Called on the thread that runs Engine::step. It may call submit and abort, must not block for long and must not
// throw.
using EventCallback = std::function<void(const TokenEvent&)>;

}  // namespace vitrine::engine
