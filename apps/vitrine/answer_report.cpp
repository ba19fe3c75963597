#include <algorithm>

#include <fmt/format.h>

#include "base/checked.h"
#include "tools/hub/files.h"
#include "vitrine/answer.h"
#include "vitrine/output.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;

double rate(std::size_t tokens, double seconds) {
  return seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
}

// Tokens that took a decode step: all but the first.
std::size_t num_decoded(const Answer& answer) {
  return std::max<std::size_t>(answer.completion_tokens, 1) - 1;
}

double prefill_rate(const Answer& answer) {
  return rate(answer.prompt_tokens - answer.cached_tokens, answer.timings.prefill_s);
}

double decode_rate(const Answer& answer) {
  return rate(num_decoded(answer), answer.timings.decode_s);
}

Json timings_json(const Answer& answer) {
  const AnswerTimings& t = answer.timings;
  return {{"load_s", t.load_s},
          {"queue_s", t.queue_s},
          {"template_s", t.template_s},
          {"tokenize_s", t.tokenize_s},
          {"prefill_s", t.prefill_s},
          {"decode_s", t.decode_s},
          {"sample_s", t.sample_s},
          {"detokenize_s", t.detokenize_s},
          {"unaccounted_s", t.unaccounted_s},
          {"total_s", t.total_s},
          {"ttft_s", number_or_null(t.latency.ttft_s)},
          {"itl_p50_s", number_or_null(t.latency.itl_p50_s)},
          {"itl_p99_s", number_or_null(t.latency.itl_p99_s)},
          {"tpot_s", number_or_null(t.latency.tpot_s)},
          {"prefill_tokens_per_s", prefill_rate(answer)},
          {"decode_tokens_per_s", decode_rate(answer)}};
}

// The last token of an answer was sampled, but never computed: nothing of it is in the cache.
std::size_t num_tokens_held(const Answer& answer) {
  return answer.prompt_tokens + num_decoded(answer);
}

// Blocks that the request had at its end. The engine reserves room for one token behind the prompt.
std::size_t num_blocks_taken(const Answer& answer) {
  const std::size_t num_tokens = std::max(num_tokens_held(answer), answer.prompt_tokens + 1);
  return base::ceil_div(num_tokens, kvcache::kBlockTokens);
}

Json memory_json(const Answer& answer, Runtime& runtime) {
  runtime.note_scratch();
  const base::MemoryLedger& ledger = runtime.ledger();
  const std::size_t block_bytes = runtime.engine().stats().block_bytes;
  return {{"weights_bytes", ledger.bytes(base::MemoryKind::kWeights)},
          {"kv_bytes", num_tokens_held(answer) * (block_bytes / kvcache::kBlockTokens)},
          {"kv_allocated_bytes", num_blocks_taken(answer) * block_bytes},
          {"activations_bytes", ledger.bytes(base::MemoryKind::kActivations)},
          {"scratch_bytes", ledger.bytes(base::MemoryKind::kScratch)},
          {"prefix_cache_bytes", ledger.bytes(base::MemoryKind::kPrefixCache)},
          {"other_bytes", ledger.bytes(base::MemoryKind::kOther)},
          {"rss_bytes", base::rss_bytes().value_or(0)}};
}

Json top_json(const std::vector<sampling::TokenLogprob>& top) {
  Json rows = Json::array();
  for (const sampling::TokenLogprob& token : top)
    rows.push_back({{"id", token.id}, {"logprob", token.logprob}});
  return rows;
}

Json logprobs_json(const Answer& answer) {
  Json rows = Json::array();
  for (const AnswerLogprobs& token : answer.logprobs)
    rows.push_back({{"id", token.id}, {"logprob", token.logprob}, {"top_logprobs", top_json(token.top)}});
  return rows;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? milliseconds(*seconds) : "-";
}

Table stage_table(const Answer& answer) {
  const AnswerTimings& t = answer.timings;
  const std::string prompt = fmt::format("{} prompt tokens, {} cached", answer.prompt_tokens, answer.cached_tokens);
  const std::string decoded = fmt::format("{} tokens, {:.1f} tok/s", num_decoded(answer), decode_rate(answer));
  return {{"STAGE", "TIME", "DETAIL"},
          {1},
          {{"load", milliseconds(t.load_s), ""},
           {"template", milliseconds(t.template_s), ""},
           {"tokenize", milliseconds(t.tokenize_s), prompt},
           {"queue", milliseconds(t.queue_s), ""},
           {"prefill", milliseconds(t.prefill_s), fmt::format("{:.1f} tok/s", prefill_rate(answer))},
           {"decode", milliseconds(t.decode_s), decoded},
           {"sample", milliseconds(t.sample_s), ""},
           {"detokenize", milliseconds(t.detokenize_s), ""},
           {"unaccounted", milliseconds(t.unaccounted_s), "scheduling, output and what no span covers"},
           {"total", milliseconds(t.total_s), "finish reason " + answer.finish_reason},
           {"TTFT", milliseconds(t.latency.ttft_s), "from the request to its first token"},
           {"ITL", milliseconds(t.latency.itl_p50_s), "median; p99 " + milliseconds(t.latency.itl_p99_s)},
           {"TPOT", milliseconds(t.latency.tpot_s), "mean time per token after the first"}}};
}

Table memory_table(const Answer& answer, Runtime& runtime) {
  Table table{{"MEMORY", "SIZE"}, {1}, {}};
  const Json sizes = memory_json(answer, runtime);
  for (const auto& [name, bytes] : sizes.items())
    table.rows.push_back({name.substr(0, name.rfind("_bytes")), hub::format_bytes(bytes.get<std::size_t>())});
  return table;
}

}  // namespace

Json to_json(const Answer& answer, Runtime& runtime, const std::vector<std::string>& warnings) {
  Json object = {{"text", answer.text},
                 {"token_ids", answer.token_ids},
                 {"finish_reason", answer.finish_reason},
                 {"usage",
                  {{"prompt_tokens", answer.prompt_tokens},
                   {"completion_tokens", answer.completion_tokens},
                   {"cached_tokens", answer.cached_tokens}}},
                 {"timings", timings_json(answer)},
                 {"memory", memory_json(answer, runtime)},
                 {"warnings", warnings}};
  if (!answer.logprobs.empty()) object["logprobs"] = logprobs_json(answer);
  return object;
}

void print_stats(const Answer& answer, Runtime& runtime, const Terminal& out) {
  out.print("\n");
  print_table(out, stage_table(answer));
  out.print("\n");
  print_table(out, memory_table(answer, runtime));
}

}  // namespace vitrine::cli
