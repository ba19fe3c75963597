#include "vitrine/machine_report.h"

namespace vitrine::cli {

nlohmann::ordered_json machine_json(const tools::Machine& machine, const BackendChoice& backend) {
  const tools::Cpus& cpus = machine.cpus;
  return {{"cpu", machine.cpu},
          {"num_cpus", cpus.allowed.size()},
          {"num_cores", cpus.num_cores},
          {"num_numa_nodes", cpus.num_nodes},
          {"cpu_quota", cpus.quota ? nlohmann::ordered_json(*cpus.quota) : nullptr},
          {"threads", backend.num_threads},
          {"isa", backends::cpu::isa_name(backend.isa)},
          {"memory_bytes", machine.total_memory_bytes},
          {"available_memory_bytes", machine.available_memory_bytes}};
}

}  // namespace vitrine::cli
