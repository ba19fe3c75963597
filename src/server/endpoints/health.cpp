#include <algorithm>
#include <string_view>

#include "server/endpoints/endpoints.h"

namespace vitrine::server {
namespace {

// A word for whoever watches the server.
std::string_view health_of(const Exchange& exchange, Service& service) {
  if (service.is_faulty()) return "failed";
  const auto is_stalled = [](const ModelSlot* slot) {
    return slot->loaded() != nullptr && slot->loaded()->served().engine->engine().is_stalled();
  };
  return std::ranges::any_of(service.models_for(exchange), is_stalled) ? "stalled" : "ok";
}

}  // namespace

Awaitable<void> answer_health(Exchange& exchange, Service& service) {
  const std::string_view state = health_of(exchange, service);
  nlohmann::ordered_json json;
  json["status"] = state;
  co_await respond_json(exchange, json, state == "ok" ? 200 : 503);
}

}  // namespace vitrine::server
