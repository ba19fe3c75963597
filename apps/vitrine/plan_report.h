#pragma once

#include <vector>

#include "plan/plot.h"
#include "plan/report.h"
#include "tools/machine.h"
#include "vitrine/output.h"

namespace vitrine::cli {

// For people: the table, the formula, and what the figures mean.
void print_plan(const plan::PlanReport& report, const tools::Machine& machine, const Terminal& out);
plan::PlanPage plan_page(const plan::PlanReport& report, const tools::Machine& machine,
                         std::vector<plan::MemoryPlot> plots);

}  // namespace vitrine::cli
