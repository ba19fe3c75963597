#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/generation.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::server {

// What every object of one answer repeats.
struct AnswerHead {
  std::string id;  // "chatcmpl-..."
  std::int64_t created = 0;
  std::string model;
};
AnswerHead make_answer_head(std::string_view id_prefix, std::string_view model);

// {"id", "object", "created", "model"}.
nlohmann::ordered_json to_json(const AnswerHead& head, std::string_view object);
nlohmann::ordered_json to_json(const Usage& usage);
nlohmann::ordered_json seconds_or_null(const std::optional<double>& seconds);
// Of a choice that has no token yet: {"index", "state": "queued", "position"}, or {"index", "state": "prefill",
// "tokens_done", "tokens", "cached_tokens"}.
nlohmann::ordered_json progress_json(std::size_t choice, const engine::Progress& progress);
// What came before the engine, in seconds.
struct PrepareTimes {
  double load_s = 0.0;     // waiting for the model to be loaded
  double prepare_s = 0.0;  // template and tokenizer
};
// The `timings` of an answer, up to now.
nlohmann::ordered_json timings_json(const Generation& generation, const PrepareTimes& prepare);

// Sets {parts{STAGE: seconds}, unaccounted_s, wall_s}: the first two sum to the third.
void put_parts(nlohmann::ordered_json& json, const trace::Parts& parts);

// Why no more of a prompt came from the prefix cache: {cached_tokens, reason} and, where a token differs from the
// nearest prompt that is cached, {position, cached_text, requested_text}. `tokenizer` may be null: then the texts are
// left out.
nlohmann::ordered_json prefix_json(const kvcache::PrefixExplanation& prefix, const tokenizer::Tokenizer* tokenizer);

// choices[].logprobs of a chat completion: {"content": [{token, logprob, bytes, top_logprobs}]}.
nlohmann::ordered_json chat_logprobs(const std::vector<TokenScore>& scores, const tokenizer::Tokenizer& tokenizer);

// choices[].logprobs of a text completion, for tokens whose first one begins `text_offset` characters into the text.
// Advances the offset.
nlohmann::ordered_json text_logprobs(const std::vector<TokenScore>& scores, const tokenizer::Tokenizer& tokenizer,
                                     std::size_t& text_offset);

// On one line. What is no UTF-8 (it can't be, but a client must get an answer) becomes U+FFFD.
std::string dump(const nlohmann::ordered_json& value);
// "data: ...\n\n".
std::string to_event(const nlohmann::ordered_json& value);

}  // namespace vitrine::server
