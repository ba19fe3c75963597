#include "server/service.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "server/api_error.h"
#include "server/openai/answer_json.h"

namespace vitrine::server {

Service::Service(std::vector<ModelOffer> models, Options options, std::unique_ptr<Accounting> accounting)
    : options_(std::move(options)),
      models_(std::move(models), options_.models),
      replays_(options_.xray_bytes),
      accounting_(std::move(accounting)) {}

void Service::join_workers() {
  workers_.stop();
  workers_.join();
  models_.join();
}

ModelSlot& Service::find_model(const Exchange& exchange, const std::string& name) {
  const auto allowed = models_for(exchange);
  const auto is_called = [&](const ModelSlot& model) { return name.empty() || model.offer().is_called(name); };
  if (name.empty() && models_.slots().size() > 1)
    throw bad_field("model", "give the name of one of the models at /v1/models", "missing_field");
  const auto found = std::ranges::find_if(allowed, [&](const ModelSlot* model) { return is_called(*model); });
  if (found != allowed.end()) return **found;
  if (std::ranges::any_of(models_.slots(), is_called)) {
    throw ApiException({.status = 403,
                        .message = "model: this API key is not for it; /v1/models lists those that it may use",
                        .param = "model",
                        .code = "model_not_allowed"});
  }
  std::vector<std::string> names;
  for (const ModelSlot* model : allowed)
    names.push_back(model->offer().name);
  throw ApiException({.status = 404,
                      .message = fmt::format("model: not served here; there is {}", fmt::join(names, ", ")),
                      .param = "model",
                      .code = "model_not_found"});
}

std::vector<ModelSlot*> Service::models_for(const Exchange& exchange) {
  const std::vector<std::string> any;
  const auto& names = exchange.grant() ? exchange.grant()->limits.models : any;
  std::vector<ModelSlot*> allowed;
  for (ModelSlot& model : models_.slots()) {
    const auto is_called = [&](const std::string& name) { return model.offer().is_called(name); };
    if (names.empty() || std::ranges::any_of(names, is_called)) allowed.push_back(&model);
  }
  return allowed;
}

std::vector<std::string> Service::warn_of(const std::vector<std::string>& unread_fields) const {
  std::vector<std::string> warnings;
  for (const std::string& field : unread_fields) {
    if (options_.strict) throw bad_field(field, "is not a field of this endpoint", "unknown_field");
    warnings.push_back(field + ": not a field of this endpoint; it was ignored");
  }
  return warnings;
}

Awaitable<void> respond_json(Exchange& exchange, const nlohmann::ordered_json& value, unsigned status) {
  HttpResponse response;
  response.status = status;
  response.body = dump(value) + "\n";
  co_await exchange.respond(std::move(response));
}

}  // namespace vitrine::server
