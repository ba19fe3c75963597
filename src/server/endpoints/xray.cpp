#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "explain/report.h"
#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/endpoints/find_trace.h"
#include "server/engine_call.h"
#include "server/openai/answer_json.h"
#include "server/query.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxWeightBytes = std::size_t{64} << 20U;  // of one answer
constexpr std::size_t kCallsADay = 100'000;

// The request of an exchange, computed again, and what keeps its model loaded.
struct Xray {
  ModelLease lease;
  ModelSlot* slot;
  std::shared_ptr<explain::Replay> replay;
};

Awaitable<Xray> open_xray(Exchange& exchange, Service& service) {
  const TraceStore::Entry& entry = find_trace(exchange, service);
  explain::Recording recording = entry.trace->recording();
  if (recording.prompt.empty())
    throw ApiException({.message = "request: it asked for no answer that could be looked into"});
  std::string id = entry.id;
  ModelSlot& slot = service.find_model(exchange, entry.model);
  ModelLease lease = co_await service.models().acquire(slot);
  auto replay = co_await service.replays().get(std::move(id), std::move(recording), slot);
  co_return Xray{std::move(lease), &slot, std::move(replay)};
}

Json price_json(const cost::PriceTable& prices, const TraceStore::Entry& entry) {
  const cost::Price* price = prices.find(entry.model);
  if (price == nullptr) return {};
  const auto cost_of = [price](std::size_t prompt, std::size_t cached, std::size_t output) {
    return cost::cost_per_call(*price, {.prompt = static_cast<std::int64_t>(prompt),
                                        .cached = static_cast<std::int64_t>(cached),
                                        .output = static_cast<std::int64_t>(output)});
  };
  const Usage& usage = entry.usage;
  const double total = cost_of(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens);
  Json json;
  json["currency"] = prices.currency();
  json["input_per_million"] = static_cast<double>(price->input) * 1e-6;
  json["cached_input_per_million"] = static_cast<double>(price->cached_input) * 1e-6;
  json["output_per_million"] = static_cast<double>(price->output) * 1e-6;
  json["prompt"] = cost_of(usage.prompt_tokens - usage.cached_tokens, 0, 0);
  json["cached"] = cost_of(usage.cached_tokens, usage.cached_tokens, 0);
  json["answer"] = cost_of(0, 0, usage.completion_tokens);
  json["total"] = total;
  json["per_100000_calls"] = total * static_cast<double>(kCallsADay);
  json["prices_dated"] = prices.date();
  return json;
}

// Null where nothing was streamed.
Json stream_json(const RequestTrace::Streamed& streamed) {
  if (streamed.num_writes == 0) return {};
  Json json;
  json["writes"] = streamed.num_writes;
  json["events"] = streamed.num_events;
  json["bytes"] = streamed.num_bytes;
  return json;
}

Json document_of(const TraceStore::Entry& entry, const Xray& xray, const std::optional<explain::Roof>& roof,
                 const Accounting* accounting) {
  const ServedModel& model = xray.lease.model();
  const trace::Timeline timeline = entry.trace->whole();
  return explain::xray_json(
      *xray.replay,
      {.id = entry.id,
       .model = entry.model,
       .finish_reason =
           entry.finish_reasons.empty() ? "" : std::string(engine::finish_reason_name(entry.finish_reasons.front())),
       .prompt_tokens = entry.usage.prompt_tokens,
       .completion_tokens = entry.usage.completion_tokens,
       .cached_tokens = entry.usage.cached_tokens,
       .timeline = timeline,
       .token_times_s = entry.token_times_s,
       .tokenizer = model.tokenizer,
       .ledger = model.ledger,
       .kernels = model.kernels,
       .roof = roof,
       .stream = stream_json(entry.trace->streamed()),
       .prefix = entry.prefix ? prefix_json(*entry.prefix, model.tokenizer) : Json(),
       .cost = accounting != nullptr ? price_json(accounting->prices(), entry) : Json()});
}

Awaitable<void> respond_floats(Exchange& exchange, const std::vector<float>& values) {
  static_assert(std::endian::native == std::endian::little, "float32 in little endian order");
  HttpResponse response;
  response.content_type = "application/octet-stream";
  response.body.resize(values.size() * sizeof(float));
  std::memcpy(response.body.data(), values.data(), response.body.size());
  co_await exchange.respond(std::move(response));
}

void check_size(const explain::Replay& replay, std::size_t num_heads) {
  const std::size_t num_positions = replay.recording().num_positions();
  const std::size_t bytes = num_heads * num_positions * (num_positions + 1) / 2 * sizeof(float);
  if (bytes > kMaxWeightBytes)
    throw ApiException({.message = "head: give one; the weights of all heads are more than an answer holds, or more "
                                   "positions than can be shown",
                        .param = "head",
                        .code = "xray_too_large"});
}

}  // namespace

Awaitable<void> answer_xray(Exchange& exchange, Service& service) {
  const Query query(exchange.request().query, {});
  const Xray xray = co_await open_xray(exchange, service);
  const std::optional<explain::Roof> roof = co_await service.replays().roof(*xray.slot);
  const TraceStore::Entry& entry = find_trace(exchange, service);
  Json json = document_of(entry, xray, roof, service.accounting());
  put_parts(json["timeline"], entry.trace->parts());
  co_await respond_json(exchange, json);
}

Awaitable<void> answer_xray_logits(Exchange& exchange, Service& service) {
  const Query query(exchange.request().query, {"step"});
  const Xray xray = co_await open_xray(exchange, service);
  const std::size_t step = query.number("step", xray.replay->recording().answer.size());
  const auto logits = std::make_shared<std::vector<float>>();
  auto piece = [logits, step, replay = xray.replay] {
    const std::span<const float> row = replay->logits(step);
    logits->assign(row.begin(), row.end());
    return false;
  };
  co_await run_on_engine(xray.lease.model(), std::move(piece));
  co_await respond_floats(exchange, *logits);
}

Awaitable<void> answer_xray_lens(Exchange& exchange, Service& service) {
  const Query query(exchange.request().query, {"first", "count"});
  const Xray xray = co_await open_xray(exchange, service);
  const std::size_t num_positions = xray.replay->recording().num_positions();
  const std::size_t first = query.number("first", num_positions);
  const std::size_t wanted = query.number("count", explain::Replay::kMaxLensPositions + 1);
  if (wanted == 0) throw bad_field("count", "must be at least 1");
  const std::size_t count = std::min(wanted, num_positions - first);
  const auto lens = std::make_shared<explain::Lens>();
  auto piece = [lens, first, count, replay = xray.replay] {
    *lens = replay->lens(first, count);
    return false;
  };
  co_await run_on_engine(xray.lease.model(), std::move(piece));
  const Json json = explain::to_json(*lens, xray.lease.model().tokenizer);
  co_await respond_json(exchange, json);
}

Awaitable<void> answer_xray_attention(Exchange& exchange, Service& service) {
  const Query query(exchange.request().query, {"layer", "head"});
  const Xray xray = co_await open_xray(exchange, service);
  const models::ModelConfig& config = xray.replay->model().config();
  const std::size_t layer = query.number("layer", config.num_layers);
  std::optional<std::size_t> head;
  if (query.text("head")) head = query.number("head", config.num_heads);
  check_size(*xray.replay, head ? 1 : config.num_heads);
  auto work = [replay = xray.replay, layer, head] {
    return head ? replay->attention_weights(layer, *head) : replay->attention_weights(layer);
  };
  const std::vector<float> weights = co_await run_on(service.workers(), std::move(work));
  co_await respond_floats(exchange, weights);
}

}  // namespace vitrine::server
