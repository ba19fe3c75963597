#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/request.h"

namespace vitrine::engine {

// Why a request is refused before it is queued: the API's error code and parameter, and one line for a person.
struct Refusal {
  std::string_view code;  // "invalid_value" or "context_length_exceeded"
  std::string param;      // the field of Request, or of its sampling parameters
  std::string message;
};

struct RequestLimits {
  std::size_t vocab_size = 0;
  std::size_t context_length = 0;  // prompt and answer together
  std::size_t kv_tokens = 0;       // what the whole KV cache holds
};

// The one gate in front of the queue: what passes can be run to its end. nullopt: accepted. Any thread.
std::optional<Refusal> validate(const Request& request, const RequestLimits& limits);

}  // namespace vitrine::engine
