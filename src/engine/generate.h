#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace vitrine::engine {

// A whole answer.
struct Generation {
  std::vector<TokenId> token_ids;  // with the stop token, if one came
  TokenEvent last;                 // its finish reason, counts and times
};

// Runs one request to its end on the calling thread, for a program that has no engine thread. `on_event` may be null.
// When `stop` (may be null; a signal handler may set it) becomes true the request ends with kAbort within one step.
// Fails with kUsage when the request is refused; a fault while it runs is FinishReason::kError in `last`.
base::Result<Generation> generate(Engine& engine, Request request, const EventCallback& on_event,
                                  const std::atomic<bool>* stop, trace::Timeline* timeline = nullptr);

}  // namespace vitrine::engine
