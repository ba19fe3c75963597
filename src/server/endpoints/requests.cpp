#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/openai/answer_json.h"
#include "server/query.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kUsualLimit = 50;
constexpr std::size_t kMaxLimit = TraceStore::kMaxTraces + TraceStore::kMaxSlow;

std::size_t read_limit(const Query& query) {
  const auto text = query.text("limit");
  if (!text) return kUsualLimit;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (error != std::errc() || end != text->data() + text->size() || limit < 1 || limit > kMaxLimit)
    throw bad_field("limit", fmt::format("must be a number from 1 to {}", kMaxLimit));
  return limit;
}

bool read_slow(const Query& query) {
  const std::string text = query.text("slow").value_or("0");
  if (text != "0" && text != "1") throw bad_field("slow", "must be 0 or 1");
  return text == "1";
}

Json request_json(const TraceStore::Entry& entry) {
  Json json;
  json["id"] = entry.id;
  json["key_id"] = entry.tenant.empty() ? Json() : Json(entry.tenant);
  json["model"] = entry.model;
  json["endpoint"] = entry.route;
  json["ended"] = entry.ended_s;
  json["wall_s"] = entry.trace->wall_s();
  json["ttft_s"] = seconds_or_null(entry.ttft_s());
  json["prompt_tokens"] = entry.usage.prompt_tokens;
  json["cached_tokens"] = entry.usage.cached_tokens;
  json["completion_tokens"] = entry.usage.completion_tokens;
  Json& reasons = json["finish_reasons"] = Json::array();
  for (const engine::FinishReason reason : entry.finish_reasons)
    reasons.push_back(engine::finish_reason_name(reason));
  return json;
}

}  // namespace

bool may_see(const Exchange& exchange, const TraceStore::Entry& entry) {
  const bool is_admin = exchange.grant() && exchange.grant()->role == store::KeyRole::kAdmin;
  return is_admin || entry.tenant == exchange.tenant();
}

Awaitable<void> answer_requests(Exchange& exchange, Service& service) {
  const Query query(exchange.request().query, {"slow", "limit"});
  const std::size_t limit = read_limit(query);
  const auto entries = read_slow(query) ? service.traces().slowest() : service.traces().newest();
  Json json;
  Json& requests = json["requests"] = Json::array();
  for (const TraceStore::Entry* entry : entries) {
    if (requests.size() < limit && may_see(exchange, *entry)) requests.push_back(request_json(*entry));
  }
  co_await respond_json(exchange, json);
}

}  // namespace vitrine::server
