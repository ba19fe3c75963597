#include "server/endpoints/endpoints.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const ServedModel& model, const std::string& name) {
  Json json;
  json["id"] = name;
  json["object"] = "model";
  json["created"] = model.created;
  json["owned_by"] = "vitrine";
  json["context_length"] = model.engine->engine().max_total_tokens();
  if (name != model.name) json["alias_of"] = model.name;
  return json;
}

}  // namespace

Awaitable<void> answer_models(Exchange& exchange, Service& service) {
  Json list;
  list["object"] = "list";
  Json& data = list["data"] = Json::array();
  for (const ServedModel* model : service.models_for(exchange)) {
    data.push_back(model_json(*model, model->name));
    for (const std::string& alias : model->aliases)
      data.push_back(model_json(*model, alias));
  }
  co_await respond_json(exchange, list);
}

}  // namespace vitrine::server
