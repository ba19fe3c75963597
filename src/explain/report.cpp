#include "explain/report.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/checked.h"
#include "base/hex.h"
#include "kvcache/kv_cache.h"
#include "sampling/parameter_table.h"
#include "trace/export.h"
#include "trace/latency.h"

namespace vitrine::explain {
namespace {

using sampling::ExplainedCandidate;
using sampling::Explanation;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

// The id in digits where there is no tokenizer.
std::string text_of(const tokenizer::Tokenizer* tokenizer, TokenId id) {
  return tokenizer != nullptr ? tokenizer->token_text(id) : std::to_string(id);
}

Json token_json(const tokenizer::Tokenizer* tokenizer, TokenId id) {
  const std::string text = text_of(tokenizer, id);
  Json json;
  json["id"] = id;
  json["piece"] = text;
  json["bytes_hex"] = base::to_hex(text);
  json["special"] = tokenizer != nullptr && tokenizer->is_special(id);
  return json;
}

Json shape_json(const models::Model& model) {
  const models::ModelConfig& config = model.config();
  Json json;
  json["architecture"] = config.architecture;
  json["num_layers"] = config.num_layers;
  json["hidden_size"] = config.hidden_size;
  json["num_heads"] = config.num_heads;
  json["num_kv_heads"] = config.num_kv_heads;
  json["head_dim"] = config.head_dim;
  json["intermediate_size"] =
      config.experts.num_experts > 0 ? config.experts.intermediate_size : config.intermediate_size;
  json["num_experts"] = config.experts.num_experts;
  json["num_experts_used"] = config.experts.num_used;
  json["vocab_size"] = config.vocab_size;
  json["context_length"] = config.context_length;
  json["sliding_window"] = config.sliding_window;
  json["weights_bytes"] = model.weight_bytes();
  return json;
}

// As a person writes them: a batch of one.
Json tensor_shapes(const models::ModelConfig& config, std::size_t prompt_tokens) {
  Json shapes = Json::array();
  const auto add = [&shapes](const char* name, std::initializer_list<std::size_t> shape) {
    Json& entry = shapes.emplace_back();
    entry["name"] = name;
    entry["shape"] = shape;
  };
  add("input_ids", {1, prompt_tokens});
  add("embedding", {1, prompt_tokens, config.hidden_size});
  add("query", {1, config.num_heads, prompt_tokens, config.head_dim});
  add("key", {1, config.num_kv_heads, prompt_tokens, config.head_dim});
  add("value", {1, config.num_kv_heads, prompt_tokens, config.head_dim});
  add("last_hidden_state", {1, prompt_tokens, config.hidden_size});
  add("logits", {1, config.vocab_size});
  return shapes;
}

Json cost_json(const Cost& cost) {
  Json json;
  json["time_s"] = cost.time_s;
  json["bytes"] = cost.bytes;
  json["flops"] = cost.flops;
  if (!cost.kernel.empty()) json["kernel"] = cost.kernel;
  return json;
}

Json layer_json(const LayerCost& layer, std::size_t layer_idx) {
  Json json;
  json["layer"] = layer_idx;
  json.update(cost_json(layer.total()));
  json["hidden_norm"] = layer.hidden_norm;
  Json& ops = json["ops"] = Json::array();
  for (std::size_t part = 0; part < kNumLayerParts; ++part) {
    if (layer.parts[part].time_s == 0.0) continue;  // a part that this family does not have
    Json& op = ops.emplace_back();
    op["name"] = layer_part_name(static_cast<LayerPart>(part));
    op.update(cost_json(layer.parts[part]));
  }
  return json;
}

Json pass_json(const PassCost& pass) {
  if (pass.num_passes == 0) return {};
  Json json;
  json["rows"] = pass.num_rows;
  Json& layers = json["layers"] = Json::array();
  for (std::size_t i = 0; i < pass.layers.size(); ++i)
    layers.push_back(layer_json(pass.layers[i], i));
  json["embedding"] = cost_json(pass.embedding);
  json["head"] = cost_json(pass.head);
  json["total"] = cost_json(pass.total());
  return json;
}

// As it was given: 0.7, not the 0.699999988 that a float makes of it.
Json parameter_value(const sampling::ParameterRow& row, const sampling::SamplingParams& params) {
  const std::optional<double> value = row.value(params);
  if (!value) return {};
  if (row.is_integer()) return static_cast<std::int64_t>(*value);
  return std::stod(fmt::format("{}", static_cast<float>(*value)));
}

// Of its link, where a request sets one number for it.
Json link_value(std::string_view name, const sampling::SamplingParams& params) {
  const sampling::ParameterRow* row = sampling::find_parameter(name);
  return row != nullptr ? parameter_value(*row, params) : Json();
}

Json candidate_json(const ExplainedCandidate& candidate, const Explanation& choice,
                    const tokenizer::Tokenizer* tokenizer) {
  Json json;
  json["id"] = candidate.id;
  json["piece"] = text_of(tokenizer, candidate.id);
  json["logit"] = candidate.logit;
  json["probability"] = candidate.probability;
  json["after"] = candidate.after.empty() ? candidate.probability : candidate.after.back();
  json["cut_by"] = candidate.cut_by ? Json(choice.chain[*candidate.cut_by].name) : Json();
  Json& after_each = json["after_each"] = Json::array();
  for (std::size_t link = 0; link < candidate.after.size(); ++link)
    after_each.push_back(candidate.cut_by && link >= *candidate.cut_by ? Json() : Json(candidate.after[link]));
  return json;
}

Json step_json(const Replay& replay, std::size_t step, const tokenizer::Tokenizer* tokenizer) {
  const Explanation& choice = replay.choices()[step];
  const TokenId id = replay.recording().answer[step];
  Json json;
  json["step"] = step;
  json["position"] = replay.recording().prompt.size() + step;
  json["id"] = id;
  const auto winner = std::ranges::find(choice.candidates, choice.chosen, &ExplainedCandidate::id);
  json["probability"] = winner->probability;
  json["logprob"] = static_cast<double>(winner->logit) - choice.log_sum_exp;
  json["rank"] = choice.rank;
  json["log_sum_exp"] = choice.log_sum_exp;
  json["max_logit"] = choice.peak;
  json["uniform"] = choice.draw ? Json(choice.draw->uniform) : Json();
  json["interval"] = choice.draw ? Json{choice.draw->lowest, choice.draw->highest} : Json();
  Json& chain = json["chain"] = Json::array();
  for (const sampling::ExplainedLink& link : choice.chain) {
    Json& entry = chain.emplace_back();
    entry["name"] = link.name;
    entry["value"] = link_value(link.name, replay.recording().sampling);
    entry["survivors"] = link.num_survivors;
  }
  json["entropy_bits"] = choice.entropy_bits;
  Json& candidates = json["candidates"] = Json::array();
  for (const ExplainedCandidate& candidate : choice.candidates)
    candidates.push_back(candidate_json(candidate, choice, tokenizer));
  return json;
}

Json steps_json(const Replay& replay, const tokenizer::Tokenizer* tokenizer, std::span<const double> token_times_s) {
  Json steps = Json::array();
  for (std::size_t step = 0; step < replay.choices().size(); ++step) {
    Json& json = steps.emplace_back(step_json(replay, step, tokenizer));
    const bool is_timed = step < token_times_s.size();
    json["duration_s"] = is_timed ? Json(token_times_s[step] - (step == 0 ? 0.0 : token_times_s[step - 1])) : Json();
  }
  return steps;
}

Json replay_json(const Replay& replay) {
  const std::optional<std::size_t> difference = replay.first_difference();
  Json json;
  json["wall_s"] = replay.wall_s();
  json["prefill_s"] = replay.prefill().total().time_s;
  json["decode_s"] = replay.decode().total().time_s;
  json["equal"] = !difference;
  json["first_difference"] = difference ? Json(*difference) : Json();
  json["memory_bytes"] = replay.size_bytes();
  return json;
}

Json kv_json(const Replay& replay) {
  const kvcache::KvCacheShape shape = replay.model().kv_shape(replay.settings().kv_type);
  const std::size_t block_bytes = kvcache::block_bytes(shape).value_or_throw();
  const std::size_t num_positions = replay.recording().num_positions();
  const std::size_t prompt_tokens = replay.recording().prompt.size();
  Json json;
  json["type"] = tensor::dtype_info(shape.type).name;
  json["bytes_per_token"] = block_bytes / kvcache::kBlockTokens;
  json["block_tokens"] = kvcache::kBlockTokens;
  json["block_bytes"] = block_bytes;
  json["tokens_held"] = num_positions;
  json["bytes_held"] = num_positions * (block_bytes / kvcache::kBlockTokens);
  json["bytes_allocated"] = base::ceil_div(num_positions, kvcache::kBlockTokens) * block_bytes;
  Json& blocks = json["blocks"] = Json::array();
  for (std::size_t first = 0; first < num_positions; first += kvcache::kBlockTokens) {
    Json& block = blocks.emplace_back();
    block["block"] = first / kvcache::kBlockTokens;
    block["filled"] = std::min(kvcache::kBlockTokens, num_positions - first);
    block["prompt_tokens"] = std::min(kvcache::kBlockTokens, prompt_tokens - std::min(first, prompt_tokens));
  }
  return json;
}

Json usage_json(const RequestFacts& facts) {
  Json json;
  json["prompt_tokens"] = facts.prompt_tokens;
  json["completion_tokens"] = facts.completion_tokens;
  json["total_tokens"] = facts.prompt_tokens + facts.completion_tokens;
  json["prompt_tokens_details"]["cached_tokens"] = facts.cached_tokens;
  return json;
}

Json latency_json(const RequestFacts& facts) {
  const trace::LatencySummary latency = trace::summarise_latency(0.0, facts.token_times_s);
  const auto rate = [](std::size_t tokens, std::int64_t ns) {
    return ns > 0 && tokens > 0 ? Json(static_cast<double>(tokens) * 1e9 / static_cast<double>(ns)) : Json();
  };
  const std::size_t num_decoded = std::max<std::size_t>(facts.token_times_s.size(), 1) - 1;
  Json json;
  json["ttft_s"] = or_null(latency.ttft_s);
  json["itl_p50_s"] = or_null(latency.itl_p50_s);
  json["itl_p99_s"] = or_null(latency.itl_p99_s);
  json["tpot_s"] = or_null(latency.tpot_s);
  json["prefill_tokens_per_s"] =
      rate(facts.prompt_tokens - facts.cached_tokens, facts.timeline.stage_ns(trace::Stage::kPrefill));
  json["decode_tokens_per_s"] = rate(num_decoded, facts.timeline.stage_ns(trace::Stage::kDecode));
  return json;
}

Json memory_json(const base::MemoryLedger& ledger) {
  Json json;
  for (std::size_t i = 0; i < base::kNumMemoryKinds; ++i) {
    const auto kind = static_cast<base::MemoryKind>(i);
    json[std::string(base::memory_kind_name(kind)) + "_bytes"] = ledger.bytes(kind);
  }
  const auto rss = base::rss_bytes();
  json["rss_bytes"] = rss ? Json(*rss) : Json();
  return json;
}

}  // namespace

Json to_json(const Roof& roof) {
  Json json;
  json["gb_per_s"] = roof.bytes_per_s / 1e9;
  json["tflops"] = roof.flops_per_s / 1e12;
  return json;
}

Json to_json(const sampling::SamplingParams& params) {
  Json json;
  for (const sampling::ParameterRow& row : sampling::parameter_rows()) {
    if (row.only_reports()) continue;
    const std::string field(row.field);
    json[field] = parameter_value(row, params);
    if (field == "seed") json[field] = params.seed ? Json(*params.seed) : Json();
  }
  for (const auto& [id, bias] : params.logit_bias)
    json["logit_bias"][std::to_string(id)] = bias;
  return json;
}

Json xray_json(const Replay& replay, const RequestFacts& facts) {
  const Recording& recording = replay.recording();
  Json json;
  json["id"] = facts.id;
  json["model"] = facts.model;
  json["finish_reason"] = facts.finish_reason.empty() ? Json() : Json(facts.finish_reason);
  json["usage"] = usage_json(facts);
  json["shape"] = shape_json(replay.model());
  json["sampling"] = to_json(recording.sampling);
  json["timeline"] = trace::to_json(facts.timeline);
  json["latency"] = latency_json(facts);
  json["stream"] = facts.stream;
  json["prompt_tokens"] = recording.prompt.size();
  Json& tokens = json["tokens"] = Json::array();
  for (const std::vector<TokenId>* ids : {&recording.prompt, &recording.answer}) {
    for (const TokenId id : *ids)
      tokens.push_back(token_json(facts.tokenizer, id));
  }
  json["shapes"] = tensor_shapes(replay.model().config(), recording.prompt.size());
  json["steps"] = steps_json(replay, facts.tokenizer, facts.token_times_s);
  json["replay"] = replay_json(replay);
  json["layers"]["prefill"] = pass_json(replay.prefill());
  json["layers"]["decode"] = pass_json(replay.decode().mean());
  json["roof"] = facts.roof ? to_json(*facts.roof) : Json();
  json["kernels"] = facts.kernels;
  json["kv"] = kv_json(replay);
  json["kv"]["cached_tokens"] = facts.cached_tokens;
  json["kv"]["prefix"] = facts.prefix;
  json["memory"] = facts.ledger != nullptr ? memory_json(*facts.ledger) : Json();
  json["cost"] = facts.cost;
  return json;
}

Json to_json(const Lens& lens, const tokenizer::Tokenizer* tokenizer) {
  Json json;
  json["first"] = lens.first;
  json["count"] = lens.layers.back().size();
  Json& layers = json["layers"] = Json::array();
  for (const std::vector<Lens::Cell>& cells : lens.layers) {
    Json& row = layers.emplace_back(Json::array());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      Json& cell = row.emplace_back();
      cell["id"] = cells[i].id;
      cell["piece"] = text_of(tokenizer, cells[i].id);
      cell["probability"] = cells[i].probability;
      cell["is_final"] = cells[i].id == lens.layers.back()[i].id;
    }
  }
  return json;
}

}  // namespace vitrine::explain
