#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "backends/cpu/peaks.h"
#include "tools/machine.h"
#include "vitrine/backend_choice.h"
#include "vitrine/terminal.h"

namespace vitrine::cli {

// The "machine" of a report, and what a model runs on there.
nlohmann::ordered_json machine_json(const tools::Machine& machine, const BackendChoice& backend);

// [{what, ops_per_s}]
nlohmann::ordered_json peaks_json(const std::vector<backends::cpu::Peak>& peaks);
// On one line.
void print_peaks(const Terminal& out, const std::vector<backends::cpu::Peak>& peaks);

}  // namespace vitrine::cli
