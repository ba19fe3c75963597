#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sampling/sampling_params.h"
#include "server/openai/fields.h"

namespace vitrine::server {

// Which of the two completion endpoints a body is for: they differ in defaults and in how log-probabilities are asked
// for.
enum class Flavour { kChat, kText };

// What both completion endpoints let a client ask for, beside the prompt.
struct AnswerOptions {
  std::string model;  // empty: not named
  sampling::SamplingParams sampling;
  std::optional<std::size_t> max_tokens;
  std::vector<std::string> stops;
  std::size_t num_choices = 1;
  bool stream = false;
  bool include_usage = false;     // a last chunk with the usage, when streamed
  bool include_progress = false;  // chunks that say how far it is until its first token comes, when streamed
  bool ignore_eos = false;
};

inline constexpr std::size_t kMaxChoices = 8;

// Throws ApiException (400) naming the field.
AnswerOptions read_answer_options(Fields& fields, Flavour flavour);

// Fields of the OpenAI API that change nothing here are read and pass in silence; those whose meaning can't be honoured
// throw ApiException (400).
void check_unsupported(Fields& fields);

}  // namespace vitrine::server
