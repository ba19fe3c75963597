#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/memory_ledger.h"
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
// What is known of a request beside what its replay tells.
struct RequestFacts {
  std::string id;
  std::string model;
  std::string finish_reason;  // empty: it has none
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;  // of all its choices
  std::size_t cached_tokens = 0;      // of the prompt
  const trace::Timeline& timeline;
  std::span<const double> token_times_s;            // of the first choice's tokens, from the request's begin
  const tokenizer::Tokenizer* tokenizer = nullptr;  // null: the model brings none
  const base::MemoryLedger* ledger = nullptr;       // null: nobody knows what is held
  std::vector<std::string> kernels = {};
  std::optional<Roof> roof = {};
  Json stream = {};  // what was sent of it: {writes, events, bytes}
  Json prefix = {};  // why no more of the prompt was cached
  Json cost = {};
};

// The whole document.
Json xray_json(const Replay& replay, const RequestFacts& facts);
// {first, count, layers}
Json to_json(const Lens& lens, const tokenizer::Tokenizer* tokenizer);

}  // namespace vitrine::explain
