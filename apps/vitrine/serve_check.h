#pragma once

#include <string>
#include <vector>

#include "server/server.h"
#include "vitrine/command.h"
#include "vitrine/engine_flags.h"
#include "vitrine/serve_plan.h"

namespace vitrine::cli {

// Its own first.
std::vector<std::string> client_names(const server::ModelOffer& offer);

// What `vitrine serve --check` tells of: each model with what counts for it.
struct CheckedModel {
  const PlannedModel& plan;
  const server::ModelOffer& offer;
  EngineFlags flags;
};
void print_check(const Context& context, const std::vector<CheckedModel>& models, const server::ServerOptions& options);

}  // namespace vitrine::cli
