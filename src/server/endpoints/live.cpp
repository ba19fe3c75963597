#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/elapsed.h"
#include "base/unix_time.h"
#include "kvcache/block_id.h"
#include "server/endpoints/endpoints.h"
#include "server/openai/answer_json.h"
#include "trace/latency.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using Watched = engine::EngineThread::WatchedSnapshot;
using Percentiles = RecentActivity::Percentiles;

struct WatchedModel {
  const ServedModel* model;
  Watched watched;
};

Json model_json(const WatchedModel& watched) {
  const engine::EngineStats& stats = watched.watched.snapshot.stats;
  const auto& sequences = watched.watched.snapshot.sequences;  // without those that only settle finished answers
  const auto num_running = std::ranges::count_if(sequences, &engine::SequenceStats::is_running);
  Json json;
  json["id"] = watched.model->name;
  json["max_sequences"] = watched.model->engine->engine().config().max_sequences;
  json["num_running"] = num_running;
  json["num_waiting"] = std::ssize(sequences) - num_running;
  json["num_steps"] = stats.num_steps;
  json["num_preemptions"] = stats.num_preemptions;
  json["age_s"] = watched.model->engine->engine().has_work() ? base::seconds_since(watched.watched.taken) : 0.0;
  Json& blocks = json["blocks"];
  blocks["total"] = stats.num_blocks;
  blocks["in_use"] = stats.num_blocks_in_use;
  blocks["cached"] = stats.num_blocks_cached;
  blocks["free"] = stats.num_blocks - stats.num_blocks_in_use - stats.num_blocks_cached;
  blocks["tokens"] = kvcache::kBlockTokens;
  blocks["bytes"] = stats.block_bytes;
  blocks["map"] = watched.watched.snapshot.blocks;
  return json;
}

// What the engine knows of a request's first choice; null when it came or went since the snapshot.
const engine::SequenceStats* find_sequence(const std::vector<WatchedModel>& models, const Generation& generation) {
  const auto id = generation.first_id();
  if (!id) return nullptr;
  for (const WatchedModel& watched : models) {
    if (watched.model != &generation.model()) continue;
    const auto& sequences = watched.watched.snapshot.sequences;
    const auto found = std::ranges::find(sequences, *id, &engine::SequenceStats::id);
    if (found != sequences.end()) return &*found;
  }
  return nullptr;
}

const char* state_of(const Generation& generation, const engine::SequenceStats* sequence) {
  if (sequence != nullptr && !sequence->is_running) return sequence->has_started ? "preempted" : "queued";
  if (!generation.report().token_times_s.empty()) return "decode";
  return sequence != nullptr ? "prefill" : "queued";
}

Json request_json(const LiveRequests::Item& item, const engine::SequenceStats* sequence) {
  const GenerationReport& report = item.generation->report();
  const trace::LatencySummary latency = trace::summarise_latency(0.0, report.token_times_s);
  Json json;
  json["id"] = item.id;
  json["key_id"] = item.key_id.empty() ? Json() : Json(item.key_id);
  json["model"] = item.generation->model().name;
  json["state"] = state_of(*item.generation, sequence);
  json["position"] = sequence != nullptr && sequence->num_ahead ? Json(*sequence->num_ahead) : Json();
  json["prompt_tokens"] = report.usage.prompt_tokens;
  json["cached_tokens"] = report.usage.cached_tokens;
  json["computed_tokens"] = sequence != nullptr ? Json(sequence->computed_tokens) : Json();
  json["completion_tokens"] = report.usage.completion_tokens;
  json["blocks"] = sequence != nullptr ? Json(sequence->num_blocks) : Json();
  json["elapsed_s"] = base::seconds_since(item.began);
  json["ttft_s"] = seconds_or_null(latency.ttft_s);
  json["itl_p50_s"] = seconds_or_null(latency.itl_p50_s);
  return json;
}

void put_percentiles(Json& json, const std::string& name, const std::optional<Percentiles>& percentiles) {
  json[name + "_p50_s"] = percentiles ? Json(percentiles->p50_s) : Json();
  json[name + "_p99_s"] = percentiles ? Json(percentiles->p99_s) : Json();
}

Json summary_json(const RecentActivity::Summary& summary) {
  Json json;
  json["output_tokens"] = summary.num_tokens;
  put_percentiles(json, "ttft", summary.ttft);
  put_percentiles(json, "itl", summary.itl);
  return json;
}

// A column a figure, as the plots take them.
Json seconds_json(const std::vector<RecentActivity::Summary>& seconds) {
  Json columns;
  for (const RecentActivity::Summary& second : seconds) {
    const Json row = summary_json(second);
    for (const auto& [name, value] : row.items())
      columns[name].push_back(value);
  }
  return columns;
}

}  // namespace

Awaitable<void> answer_live(Exchange& exchange, Service& service) {
  std::vector<WatchedModel> models;
  for (const ModelSlot& slot : service.models().slots()) {
    if (slot.loaded() == nullptr) continue;
    const ServedModel& model = slot.loaded()->served();
    models.push_back({&model, model.engine->watch()});
  }
  Json json;
  json["time"] = base::unix_time_s();
  Json& models_json = json["models"] = Json::array();
  for (const WatchedModel& watched : models)
    models_json.push_back(model_json(watched));
  Json& requests = json["requests"] = Json::array();
  for (const LiveRequests::Item& item : service.live().items())
    requests.push_back(request_json(item, find_sequence(models, *item.generation)));
  const RecentActivity& activity = service.live().activity();
  json["window"] = summary_json(activity.whole(Clock::now()));
  json["window"]["seconds"] = RecentActivity::kNumSeconds;
  json["seconds"] = seconds_json(activity.seconds(Clock::now()));
  co_await respond_json(exchange, json);
}

}  // namespace vitrine::server
