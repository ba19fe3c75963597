#include "vitrine/bench_ops.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace vitrine::cli {
namespace {

// Of the unit that a kernel works on, by the kernel's name.
double peak_of_kernel(const std::vector<backends::cpu::Peak>& peaks, std::string_view kernel) {
  const std::string_view unit = kernel.find("tiles") != std::string_view::npos   ? "bf16 tiles"
                                : kernel.find("pairs") != std::string_view::npos ? "bf16 pairs"
                                : kernel.find("int8") != std::string_view::npos  ? "int8"
                                                                                 : "float32";
  const auto found = std::ranges::find(peaks, unit, &backends::cpu::Peak::what);
  return found == peaks.end() ? 0.0 : found->ops_per_s;
}

double share_of_roof(const explain::Cost& cost, const OpRoofs& roofs) {
  if (cost.time_s <= 0.0) return 0.0;
  const double peak = peak_of_kernel(roofs.peaks, cost.kernel);
  const double of_memory = roofs.bytes_per_s > 0.0 ? cost.bytes / cost.time_s / roofs.bytes_per_s : 0.0;
  const double of_compute = peak > 0.0 ? cost.flops / cost.time_s / peak : 0.0;
  return std::max(of_memory, of_compute);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100.0 * share);
}

// A figure that some operations do not have.
std::string or_dash(double value, const std::string& text) {
  return value > 0.0 ? text : "-";
}

}  // namespace

OpTable::OpTable(const tools::OpProfile& profile, std::size_t num_passes, double watched_s, double overhead,
                 OpRoofs roofs)
    : pass_s_((watched_s - profile.unwanted_s()) / static_cast<double>(num_passes)),
      between_s_(pass_s_),
      overhead_(overhead),
      roofs_(std::move(roofs)) {
  const auto passes = static_cast<double>(num_passes);
  for (const tools::OpCost& op : profile.ops()) {
    const explain::Cost cost = op.cost / passes;
    rows_.push_back({std::string(op.section), std::string(tools::op_name(op.kind)),
                     static_cast<double>(op.num_calls) / passes, cost, share_of_roof(cost, roofs_)});
    between_s_ -= cost.time_s;
  }
}

nlohmann::ordered_json OpTable::to_json() const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    rows.push_back({{"section", row.section},
                    {"op", row.op},
                    {"kernel", row.cost.kernel.empty() ? nlohmann::ordered_json(nullptr)
                                                       : nlohmann::ordered_json(row.cost.kernel)},
                    {"calls", row.num_calls},
                    {"seconds", row.cost.time_s},
                    {"time_share", row.cost.time_s / pass_s_},
                    {"bytes", row.cost.bytes},
                    {"ops", row.cost.flops},
                    {"gb_per_s", row.cost.bytes / row.cost.time_s / 1e9},
                    {"tops", row.cost.flops / row.cost.time_s / 1e12},
                    {"roof_share", row.roof_share > 0.0 ? nlohmann::ordered_json(row.roof_share) : nullptr}});
  }
  return {{"pass_s", pass_s_},
          {"between_s", between_s_},
          {"overhead", overhead_},
          {"read_bytes_per_s", roofs_.bytes_per_s},
          {"rows", std::move(rows)}};
}

void OpTable::print(const std::string& title, const Terminal& out) const {
  out.print(fmt::format("\n{}: {:.3f} ms a pass ({:+.1f} % by being watched); memory gave {:.1f} GB/s\n", title,
                        pass_s_ * 1e3, 100.0 * overhead_, roofs_.bytes_per_s / 1e9));
  Table table{{"PART", "OPERATION", "CALLS", "ms", "OF TIME", "MB", "GFLOP", "GB/s", "TOPS", "OF ROOF", "KERNEL"},
              {2, 3, 4, 5, 6, 7, 8, 9},
              {}};
  for (const Row& row : rows_) {
    const explain::Cost& cost = row.cost;
    table.rows.push_back({row.section, row.op, fmt::format("{:.0f}", row.num_calls),
                          fmt::format("{:.3f}", cost.time_s * 1e3), percent(cost.time_s / pass_s_),
                          or_dash(cost.bytes, fmt::format("{:.2f}", cost.bytes / 1e6)),
                          or_dash(cost.flops, fmt::format("{:.3f}", cost.flops / 1e9)),
                          or_dash(cost.bytes, fmt::format("{:.1f}", cost.bytes / cost.time_s / 1e9)),
                          or_dash(cost.flops, fmt::format("{:.3f}", cost.flops / cost.time_s / 1e12)),
                          or_dash(row.roof_share, percent(row.roof_share)), cost.kernel});
  }
  table.rows.push_back({"between", "", "", fmt::format("{:.3f}", between_s_ * 1e3), percent(between_s_ / pass_s_), "",
                        "", "", "", "", ""});
  print_table(out, table);
}

}  // namespace vitrine::cli
