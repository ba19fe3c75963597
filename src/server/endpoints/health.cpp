#include "server/endpoints/endpoints.h"
#include "server/openai/answer_json.h"

namespace vitrine::server {

Awaitable<void> answer_health(Exchange& exchange, Service& service) {
  nlohmann::ordered_json json;
  json["status"] = service.is_faulty() ? "failed" : "ok";
  HttpResponse response;
  response.status = service.is_faulty() ? 503 : 200;
  response.body = dump(json) + "\n";
  co_await exchange.respond(std::move(response));
}

}  // namespace vitrine::server
