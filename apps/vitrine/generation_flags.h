#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/answer.h"
#include "vitrine/parser.h"
#include "vitrine/sampling_flags.h"

namespace vitrine::cli {

// How long an answer gets, how its tokens are chosen and what is said about it, bound to flags by add_generation_flags.
struct GenerationFlags {
  SamplingFlags sampling;
  std::optional<std::size_t> max_tokens;  // what is set before add_generation_flags is the default
  std::vector<std::string> stops;
  bool ignore_eos = false;
  std::string json_schema;  // a file
  bool stats = false;       // times and memory after an answer
  bool strict = false;      // warnings are errors

  // Throws base::Exception (kUsage).
  AnswerOptions options() const;
};
void add_generation_flags(const Parser& parser, GenerationFlags& flags);

}  // namespace vitrine::cli
