#include <utility>

#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/endpoints/find_trace.h"
#include "server/openai/answer_json.h"
#include "trace/export.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

Json trace_json(const TraceStore::Entry& entry) {
  Json json;
  json["id"] = entry.id;
  json["model"] = entry.model;
  json["usage"] = to_json(entry.usage);
  Json& reasons = json["finish_reasons"] = Json::array();
  for (const engine::FinishReason reason : entry.finish_reasons)
    reasons.push_back(engine::finish_reason_name(reason));
  const Json timeline = trace::to_json(entry.trace->whole());
  json["spans"] = timeline.at("spans");
  json["stages"] = timeline.at("stages");
  put_parts(json, entry.trace->parts());
  return json;
}

}  // namespace

const TraceStore::Entry& find_trace(const Exchange& exchange, const Service& service) {
  const TraceStore::Entry* entry = service.traces().find(exchange.path_value(0));
  if (entry != nullptr && may_see(exchange, *entry)) return *entry;
  throw ApiException({.status = 404,
                      .message = "request: no trace of it; the last ones that have ended are kept, by x-request-id: "
                                 "/v1/requests lists them",
                      .code = "request_not_found"});
}

Awaitable<void> answer_request_trace(Exchange& exchange, Service& service) {
  const TraceStore::Entry& entry = find_trace(exchange, service);
  const std::string& query = exchange.request().query;
  if (query.empty()) {
    const Json json = trace_json(entry);
    co_await respond_json(exchange, json);
  } else if (query == "format=chrome") {
    HttpResponse response;
    response.body = trace::to_chrome_trace(entry.trace->whole());
    co_await exchange.respond(std::move(response));
  } else {
    throw bad_field("format", "chrome is the only other one there is");
  }
}

}  // namespace vitrine::server
