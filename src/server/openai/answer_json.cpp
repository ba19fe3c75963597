#include "server/openai/answer_json.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/unix_time.h"
#include "base/utf8.h"
#include "trace/export.h"
#include "trace/latency.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

Json score_json(const tokenizer::Tokenizer& tokenizer, TokenId id, float logprob) {
  const std::string text = tokenizer.token_text(id);
  Json bytes = Json::array();
  for (const char byte : text)
    bytes.push_back(static_cast<unsigned char>(byte));
  Json score;
  score["token"] = text;
  score["logprob"] = logprob;
  score["bytes"] = std::move(bytes);
  return score;
}

std::size_t num_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !base::is_continuation(c); }));
}

}  // namespace

AnswerHead make_answer_head(std::string_view id_prefix, std::string_view model) {
  return {std::string(id_prefix) + base::random_hex(12), base::unix_time_s(), std::string(model)};
}

Json to_json(const AnswerHead& head, std::string_view object) {
  Json json;
  json["id"] = head.id;
  json["object"] = object;
  json["created"] = head.created;
  json["model"] = head.model;
  return json;
}

Json to_json(const Usage& usage) {
  Json json;
  json["prompt_tokens"] = usage.prompt_tokens;
  json["completion_tokens"] = usage.completion_tokens;
  json["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  json["prompt_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  return json;
}

Json seconds_or_null(const std::optional<double>& seconds) {
  return seconds ? Json(*seconds) : Json();
}

Json progress_json(std::size_t choice, const engine::Progress& progress) {
  Json json;
  json["index"] = choice;
  json["state"] = progress.is_running ? "prefill" : "queued";
  if (!progress.is_running) {
    json["position"] = progress.num_ahead;
    return json;
  }
  json["tokens_done"] = progress.computed_tokens;
  json["tokens"] = progress.prompt_tokens;
  json["cached_tokens"] = progress.cached_tokens;
  return json;
}

Json timings_json(const Generation& generation, const PrepareTimes& prepare) {
  const GenerationReport& report = generation.report();
  const trace::Parts parts = generation.parts();
  const trace::LatencySummary latency = trace::summarise_latency(0.0, report.token_times_s);
  Json json;
  json["load_s"] = prepare.load_s;
  json["prepare_s"] = prepare.prepare_s;
  json["queue_s"] = report.timings.queue_s;
  json["prefill_s"] = report.timings.prefill_s;
  json["decode_s"] = report.timings.decode_s;
  json["sample_s"] = report.timings.sample_s;
  json["other_s"] = report.timings.lookup_s + report.timings.schedule_s + report.timings.other_s;
  json["ttft_s"] = seconds_or_null(latency.ttft_s);
  json["itl_p50_s"] = seconds_or_null(latency.itl_p50_s);
  json["itl_p99_s"] = seconds_or_null(latency.itl_p99_s);
  json["tpot_s"] = seconds_or_null(latency.tpot_s);
  put_parts(json, parts);
  return json;
}

void put_parts(Json& json, const trace::Parts& parts) {
  json["parts"] = trace::to_json(parts);
  json["unaccounted_s"] = static_cast<double>(parts.unaccounted_ns()) * 1e-9;
  json["wall_s"] = static_cast<double>(parts.wall_ns) * 1e-9;
}

Json prefix_json(const kvcache::PrefixExplanation& prefix, const tokenizer::Tokenizer* tokenizer) {
  using Reason = kvcache::PrefixExplanation::Reason;
  Json json;
  json["cached_tokens"] = prefix.num_cached_tokens;
  json["reason"] = prefix.reason == Reason::kWholeBlocksCached ? "all_full_blocks_cached"
                   : prefix.reason == Reason::kTokenDiffers    ? "token_differs"
                                                               : "not_cached";
  if (prefix.reason != Reason::kTokenDiffers) return json;
  json["position"] = prefix.position;
  if (tokenizer == nullptr) return json;
  json["cached_text"] = tokenizer->token_text(prefix.cached_token);
  json["requested_text"] = tokenizer->token_text(prefix.requested_token);
  return json;
}

Json chat_logprobs(const std::vector<TokenScore>& scores, const tokenizer::Tokenizer& tokenizer) {
  Json content = Json::array();
  for (const TokenScore& score : scores) {
    Json entry = score_json(tokenizer, score.id, score.logprob);
    Json& top = entry["top_logprobs"] = Json::array();
    for (const auto& [id, logprob] : score.top)
      top.push_back(score_json(tokenizer, id, logprob));
    content.push_back(std::move(entry));
  }
  Json json;
  json["content"] = std::move(content);
  json["refusal"] = nullptr;
  return json;
}

Json text_logprobs(const std::vector<TokenScore>& scores, const tokenizer::Tokenizer& tokenizer,
                   std::size_t& text_offset) {
  Json json;
  for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
    json[name] = Json::array();
  for (const TokenScore& score : scores) {
    const std::string text = tokenizer.token_text(score.id);
    json["tokens"].push_back(text);
    json["token_logprobs"].push_back(score.logprob);
    json["text_offset"].push_back(std::exchange(text_offset, text_offset + num_characters(text)));
    Json top = Json::object();
    for (const auto& [id, logprob] : score.top)
      top[tokenizer.token_text(id)] = logprob;
    json["top_logprobs"].push_back(std::move(top));
  }
  return json;
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_event(const Json& value) {
  return "data: " + dump(value) + "\n\n";
}

}  // namespace vitrine::server
