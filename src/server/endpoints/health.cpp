#include "server/endpoints/endpoints.h"

namespace vitrine::server {

Awaitable<void> answer_health(Exchange& exchange, Service& service) {
  nlohmann::ordered_json json;
  json["status"] = service.is_faulty() ? "failed" : "ok";
  co_await respond_json(exchange, json, service.is_faulty() ? 503 : 200);
}

}  // namespace vitrine::server
