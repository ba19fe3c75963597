#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plan/formula.h"
#include "plan/memory.h"
#include "plan/plot.h"
#include "plan/speed.h"
#include "tools/machine.h"
#include "vitrine/output.h"
#include "vitrine/plan_subject.h"

namespace vitrine::cli {

// One line of a plan.
struct PlanRow {
  std::size_t context_length = 0;
  std::size_t batch = 0;
  tensor::DType kv_type = tensor::DType::kF16;
  plan::Memory memory;
  bool fits = false;
  std::size_t max_context = 0;  // tokens that fit with this batch, at most the model's own
  std::size_t max_batch = 0;    // sequences that fit with this context
  plan::KvFormula formula;
  std::optional<plan::Speed> speed;
};

// What `vitrine plan` answers.
struct PlanReport {
  const PlanSubject& subject;
  const tools::Machine& machine;
  std::vector<PlanRow> rows;
  std::optional<plan::MachineRates> rates;  // as measured; absent: speeds are left out
};

nlohmann::ordered_json to_json(const PlanReport& report, nlohmann::ordered_json machine);
// For people: the table, the formula, and what the figures mean.
void print_plan(const PlanReport& report, const Terminal& out);
plan::PlanPage plan_page(const PlanReport& report, std::vector<plan::MemoryPlot> plots);

}  // namespace vitrine::cli
