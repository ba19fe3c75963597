#pragma once

#include <optional>
#include <string>

#include "server/usage.h"

namespace vitrine::server {

// What one answer took from its model, as far as it came.
struct AnswerNote {
  std::string model;
  Usage usage;
  std::string finish_reason;
  double queue_s = 0.0;
  std::optional<double> ttft_s = {};  // of the first choice, from when it was submitted
};

}  // namespace vitrine::server
