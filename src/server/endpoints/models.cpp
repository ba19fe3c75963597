#include "server/endpoints/endpoints.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

// What a request may have, as far as can be told before the model is loaded.
std::size_t max_tokens(const ModelSlot& slot) {
  return slot.loaded() != nullptr ? slot.loaded()->served().engine->engine().max_total_tokens()
                                  : slot.offer().context_length;
}

Json model_json(const ModelSlot& slot, const std::string& name) {
  const ModelOffer& offer = slot.offer();
  Json json;
  json["id"] = name;
  json["object"] = "model";
  json["created"] = offer.created;
  json["owned_by"] = "vitrine";
  json["context_length"] = max_tokens(slot);
  if (name != offer.name) json["alias_of"] = offer.name;
  json["state"] = state_name(slot.state());
  json["pinned"] = offer.is_pinned;
  json["memory_bytes"] = slot.loaded() != nullptr ? slot.loaded()->memory_bytes() : 0;
  json["planned_bytes"] = offer.planned_bytes;
  return json;
}

}  // namespace

Awaitable<void> answer_models(Exchange& exchange, Service& service) {
  Json list;
  list["object"] = "list";
  Json& data = list["data"] = Json::array();
  for (const ModelSlot* slot : service.models_for(exchange)) {
    data.push_back(model_json(*slot, slot->offer().name));
    for (const std::string& alias : slot->offer().aliases)
      data.push_back(model_json(*slot, alias));
  }
  co_await respond_json(exchange, list);
}

}  // namespace vitrine::server
