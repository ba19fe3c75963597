#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "explain/replay.h"
#include "sampling/sampling_params.h"
#include "tokenizer/tokenizer.h"
#include "trace/timeline.h"

// The JSON of an X-ray (docs/explain.md).
namespace vitrine::explain {

using Json = nlohmann::ordered_json;

// What this machine can do at most, as measured: the roofs that costs are held against.
struct Roof {
  double bytes_per_s = 0.0;  // read from memory
  double flops_per_s = 0.0;  // in products of prompt rows
};
Json to_json(const Roof& roof);

// Every parameter of a request, by the names of the API.
Json to_json(const sampling::SamplingParams& params);
// The time from the request to its tokens and what it means for a reader; `token_times_s` count from the request's
// begin. Absent figures are null.
Json latency_json(const trace::Timeline& timeline, std::span<const double> token_times_s, std::size_t prompt_tokens);

// All that a replay knows: shape, tokens, steps, layers, kv. `tokenizer` is null where the model brings none;
// `token_times_s` are those of the request's tokens, for how long each step took.
Json to_json(const Replay& replay, const tokenizer::Tokenizer* tokenizer, std::span<const double> token_times_s);
// {first, count, layers}
Json to_json(const Lens& lens, const tokenizer::Tokenizer* tokenizer);

}  // namespace vitrine::explain
