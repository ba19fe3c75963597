#include "vitrine/plan_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kvcache/kv_cache.h"
#include "tools/hub/files.h"

namespace vitrine::cli {
namespace {

using plan::grouped;
using plan::PlanReport;
using plan::PlanRow;

std::string kv_type_name(tensor::DType type) {
  return std::string(tensor::dtype_info(type).name);
}

std::string per_second(const std::optional<plan::Speed>& speed, double plan::Speed::*member) {
  return speed ? fmt::format("{:.3g}", *speed.*member) : "-";
}

// The model's own context can't be passed, so reaching it is no limit of memory.
std::string context_cell(const PlanRow& row, std::size_t model_context) {
  return row.max_context >= model_context ? grouped(model_context) + " (all)" : grouped(row.max_context);
}

Table table_of(const PlanReport& report) {
  Table table{{"CONTEXT", "BATCH", "KV", "WEIGHTS", "KV HELD", "KV BLOCKS", "BUFFERS", "OTHER", "TOTAL", "FITS",
               "MOST CONTEXT", "MOST USERS", "PREFILL TOK/S", "DECODE TOK/S"},
              {0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13},
              {}};
  for (const PlanRow& row : report.rows) {
    const plan::Memory& memory = row.memory;
    table.rows.push_back({grouped(row.context_length), grouped(row.batch), kv_type_name(row.kv_type),
                          hub::format_bytes(memory.weights), hub::format_bytes(memory.kv),
                          hub::format_bytes(memory.kv_allocated),
                          hub::format_bytes(memory.activations + memory.scratch), hub::format_bytes(memory.other),
                          hub::format_bytes(memory.total()), row.fits ? "yes" : "no",
                          context_cell(row, report.subject.network.config.context_length), grouped(row.max_batch),
                          per_second(row.speed, &plan::Speed::prefill_tokens_per_s),
                          per_second(row.speed, &plan::Speed::decode_tokens_per_s)});
  }
  return table;
}

// "4 times as much", "9 % less".
std::string compared(double copied, double right) {
  const double ratio = copied / right;
  if (ratio >= 1.995) return fmt::format("{:.3g} times as much", ratio);
  const double percent = 100.0 * std::abs(ratio - 1.0);
  return fmt::format("{:.3g} % {}", percent, ratio > 1.0 ? "more" : "less");
}

std::vector<std::string> formula_lines(const PlanRow& row) {
  const plan::KvFormula& formula = row.formula;
  const auto right = static_cast<double>(formula.bytes);
  std::vector<std::string> lines = {
      fmt::format("KV cache = {} = {} bytes.", formula.formula, grouped(formula.bytes)),
      fmt::format("The formula that is copied from page to page, batch x length x 2 x layers x hidden x 2 bytes, "
                  "gives {} = {} bytes",
                  formula.copied, grouped(static_cast<std::size_t>(formula.copied_bytes)))};
  if (formula.copied_bytes == right) {
    lines.back() += ", the same: each head keeps its own keys and values, hidden / heads wide.";
  } else {
    lines.back() += fmt::format(", {}: {}.", compared(formula.copied_bytes, right), fmt::join(formula.reasons, "; "));
  }
  return lines;
}

std::string subject_line(const PlanReport& report) {
  const plan::Network& network = report.subject.network;
  return fmt::format("{}: {:.3g} billion parameters, {:.3g} billion multiplied for a token, {}", report.subject.name,
                     static_cast<double>(network.num_parameters()) / 1e9, network.num_active_elements() / 1e9,
                     report.subject.weights);
}

std::string machine_line(const tools::Machine& machine) {
  std::string line =
      fmt::format("{}: {} of {} available", machine.cpu.empty() ? "this machine" : machine.cpu,
                  hub::format_bytes(machine.available_memory_bytes), hub::format_bytes(machine.total_memory_bytes));
  if (machine.cpus.num_nodes() > 1) line += fmt::format(", spread over {} NUMA nodes", machine.cpus.num_nodes());
  return line;
}

bool can_be_cached(tensor::DType type) {
  return kvcache::block_bytes({.num_layers = 1, .num_kv_heads = 1, .head_dim = 64, .type = type}).has_value();
}

std::vector<std::string> remarks(const PlanReport& report) {
  std::vector<std::string> lines;
  const auto& rows = report.rows;
  if (!report.subject.note.empty()) lines.push_back("Note: " + report.subject.note + ".");
  if (std::ranges::any_of(rows, [](const PlanRow& row) { return !can_be_cached(row.kv_type); }))
    lines.emplace_back("Note: Vitrine's own cache is f32, f16, bf16 or q8_0; other types are shown for comparison.");
  if (report.subject.network.kv.num_window_layers > 0) {
    lines.emplace_back(
        "KV HELD counts windowed layers by their window; the blocks of Vitrine's cache hold every token in every "
        "layer.");
  }
  if (report.rates) {
    lines.push_back(fmt::format(
        "Speeds are a forecast, all sequences together, from what was measured just now: {:.1f} GB/s read, {:.0f} "
        "billion operations per second with many rows and {:.0f} with few. `vitrine bench model` measures the real "
        "ones.",
        report.rates->read_bytes_per_s / 1e9, report.rates->prompt_flops_per_s / 1e9,
        report.rates->generated_flops_per_s / 1e9));
  }
  return lines;
}

}  // namespace

void print_plan(const PlanReport& report, const tools::Machine& machine, const Terminal& out) {
  out.print(printable(subject_line(report)) + "\n" + printable(machine_line(machine)) + "\n\n");
  print_table(out, table_of(report));
  out.print("\n");
  for (const std::string& line : formula_lines(report.rows.front()))
    out.print(line + "\n");
  for (const std::string& line : remarks(report))
    out.print("\n" + line + "\n");
}

plan::PlanPage plan_page(const PlanReport& report, const tools::Machine& machine, std::vector<plan::MemoryPlot> plots) {
  const Table table = table_of(report);
  plan::PlanPage page{"Memory of " + report.subject.name,
                      {subject_line(report), machine_line(machine)},
                      std::move(plots),
                      table.header,
                      table.rows};
  for (const auto& lines : {formula_lines(report.rows.front()), remarks(report)})
    page.notes.insert(page.notes.end(), lines.begin(), lines.end());
  return page;
}

}  // namespace vitrine::cli
