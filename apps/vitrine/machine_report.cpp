#include "vitrine/machine_report.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vitrine::cli {

nlohmann::ordered_json machine_json(const tools::Machine& machine, const BackendChoice& backend) {
  const tools::Cpus& cpus = machine.cpus;
  return {{"cpu", machine.cpu},
          {"num_cpus", cpus.allowed.size()},
          {"num_cores", cpus.cores.size()},
          {"num_numa_nodes", cpus.num_nodes()},
          {"cpu_quota", cpus.quota ? nlohmann::ordered_json(*cpus.quota) : nullptr},
          {"threads", backend.num_threads},
          {"isa", backends::cpu::isa_name(backend.isa)},
          {"memory_bytes", machine.total_memory_bytes},
          {"available_memory_bytes", machine.available_memory_bytes}};
}

nlohmann::ordered_json peaks_json(const std::vector<backends::cpu::Peak>& peaks) {
  auto json = nlohmann::ordered_json::array();
  for (const backends::cpu::Peak& peak : peaks)
    json.push_back({{"what", peak.what}, {"ops_per_s", peak.ops_per_s}});
  return json;
}

void print_peaks(const Terminal& out, const std::vector<backends::cpu::Peak>& peaks) {
  std::vector<std::string> parts;
  for (const backends::cpu::Peak& peak : peaks)
    parts.push_back(fmt::format("{} {:.3f} TOPS", peak.what, peak.ops_per_s / 1e12));
  out.print(fmt::format("peaks of all threads: {}\n\n", fmt::join(parts, ", ")));
}

}  // namespace vitrine::cli
