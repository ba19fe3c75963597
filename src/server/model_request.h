#pragma once

#include <nlohmann/json.hpp>

#include "server/service.h"

namespace vitrine::server {

// A request to a model, read as JSON, and the model, which stays loaded as long as this lives.
struct ModelRequest {
  nlohmann::ordered_json body;
  ModelLease lease;
  double parse_s = 0.0;
  double load_s = 0.0;  // the time that it waited for its model to be loaded

  const ServedModel& model() const { return lease.model(); }
};

// Reads the body of the exchange and waits for the model that its field "model" names. Throws ApiException.
Awaitable<ModelRequest> read_model_request(Exchange& exchange, Service& service);

}  // namespace vitrine::server
