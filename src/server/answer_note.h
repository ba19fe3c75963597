#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace vitrine::server {

// What one answer took from its model, as far as it came.
struct AnswerNote {
  std::string model;
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;  // of the prompt
  std::size_t completion_tokens = 0;
  std::string finish_reason;
  double queue_s = 0.0;
  std::optional<double> ttft_s = {};  // of the first choice, from when it was submitted
};

}  // namespace vitrine::server
