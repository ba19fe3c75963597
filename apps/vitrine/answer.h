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

// Seconds of each part of a request, all of them measured; what lies in none is unaccounted_s.
struct AnswerTimings {
  double load_s = 0.0;
  double queue_s = 0.0;
  double template_s = 0.0;
  double tokenize_s = 0.0;
  double prefill_s = 0.0;
  double decode_s = 0.0;
  double sample_s = 0.0;
  double detokenize_s = 0.0;
  double total_s = 0.0;
  std::optional<double> ttft_s;      // from the request's start to its first token
  std::vector<double> token_gaps_s;  // between consecutive tokens

  double unaccounted_s() const;
};

struct Answer {
  std::string text;
  std::vector<TokenId> token_ids;  // without the token that ended the answer
  std::string finish_reason;
  std::string error;
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;
  std::size_t cached_tokens = 0;
  AnswerTimings timings;
};

// Pieces of text as they become final.
using OnText = std::function<void(std::string_view text)>;

// Runs a prompt of token ids to its end on this thread. `timings` holds what was spent before (load, template,
// tokenize). Throws base::Exception where the request is refused. `stop` as in engine::generate.
Answer answer_prompt(Runtime& runtime, std::vector<TokenId> prompt, const AnswerOptions& options, AnswerTimings timings,
                     const OnText& on_text, const std::atomic<bool>* stop);

nlohmann::ordered_json to_json(const Answer& answer, Runtime& runtime, const std::vector<std::string>& warnings);
// The table under --stats.
void print_stats(const Answer& answer, Runtime& runtime, const Terminal& out);

}  // namespace vitrine::cli
