#pragma once

#include <cstddef>

namespace vitrine::server {

// Tokens of a request, all its choices together.
struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;
  std::size_t cached_tokens = 0;  // of the prompt
};

}  // namespace vitrine::server
