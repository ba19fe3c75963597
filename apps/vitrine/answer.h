#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/request.h"
#include "sampling/sampling_params.h"
#include "trace/latency.h"
#include "trace/timeline.h"
#include "vitrine/runtime.h"
#include "vitrine/terminal.h"

namespace vitrine::cli {

// What a request asks of the engine, beside its prompt.
struct AnswerOptions {
  sampling::SamplingParams sampling;
  std::optional<std::size_t> max_tokens;
  std::vector<std::string> stops;
  bool ignore_eos = false;
};

// What goes out while an answer is made; each may be empty. All are called on the calling thread.
struct AnswerHooks {
  std::function<void(std::string_view text)> on_text;  // pieces of text as they become final
  std::function<void(std::size_t num_computed, std::size_t num_prompt_tokens)> on_prefill;  // after each chunk
  const std::atomic<bool>* stop = nullptr;  // ends the answer within one step once true
};

// Seconds that the timeline measured for each stage of a request; unaccounted_s is what lies in none of them.
struct AnswerTimings {
  double load_s = 0.0;
  double queue_s = 0.0;
  double template_s = 0.0;
  double tokenize_s = 0.0;
  double prefill_s = 0.0;
  double decode_s = 0.0;
  double sample_s = 0.0;
  double detokenize_s = 0.0;
  double unaccounted_s = 0.0;
  double total_s = 0.0;
  trace::LatencySummary latency;  // from the moment at which the model was loaded
};

// A token and how probable it was, where SamplingParams::logprobs asked for it.
struct AnswerLogprobs {
  TokenId id = -1;
  float logprob = 0.0F;
  std::vector<sampling::TokenLogprob> top;
};

struct Answer {
  std::string text;
  std::vector<TokenId> token_ids;     // without the token that ended the answer
  std::vector<TokenId> sampled_ids;   // with it
  std::vector<double> token_times_s;  // when each of those came, from the moment at which the model was loaded
  std::vector<AnswerLogprobs> logprobs;
  std::string finish_reason;
  std::string error;
  std::string length_note;  // which limit ended the answer, where it was not max_tokens; else empty
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;
  std::size_t cached_tokens = 0;
  AnswerTimings timings;
};

// Runs a prompt of token ids to its end on this thread. `timeline` may hold what was spent before (load, template,
// tokenize); it is finished here. Throws base::Exception (kUsage) where the request is refused.
Answer answer_prompt(Runtime& runtime, std::vector<TokenId> prompt, const AnswerOptions& options,
                     trace::Timeline& timeline, const AnswerHooks& hooks);

// The JSON of run and chat.
nlohmann::ordered_json to_json(const Answer& answer, Runtime& runtime, const std::vector<std::string>& warnings);
// The tables under --stats.
void print_stats(const Answer& answer, Runtime& runtime, const Terminal& out);

}  // namespace vitrine::cli
