#pragma once

#include <nlohmann/json.hpp>

#include "tools/machine.h"
#include "vitrine/backend_choice.h"

namespace vitrine::cli {

// The "machine" of a report, and what a model runs on there.
nlohmann::ordered_json machine_json(const tools::Machine& machine, const BackendChoice& backend);

}  // namespace vitrine::cli
