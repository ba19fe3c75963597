#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sampling/sampling_params.h"
#include "server/http/exchange.h"
#include "server/trace_store.h"
#include "trace/otlp.h"

namespace vitrine::server {

// What a client asked for, as far as spans tell of it. No text of a prompt or an answer is ever among it.
struct AskedFor {
  std::string model;  // as the client called it; empty: it did not
  sampling::SamplingParams sampling = {};
  std::optional<std::size_t> max_tokens = {};
  std::size_t num_choices = 1;
  bool is_streamed = false;
};

// The finished request of an exchange as spans for OTLP, by the GenAI semantic conventions of OpenTelemetry: one of
// the whole, and below it one for each stage; all decode steps together are one. The parent is that of the header
// traceparent. `error`: as the API names it; empty where there was none. Nothing where the parent's trace is not
// recorded.
std::vector<trace::ExportSpan> request_spans(const Exchange& exchange, const TraceStore::Entry& entry,
                                             const AskedFor& asked, const std::string& error);

}  // namespace vitrine::server
