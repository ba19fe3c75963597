#include "vitrine/backend_choice.h"

#include <fmt/format.h>

#include "tools/cpus.h"

namespace vitrine::cli {

using backends::cpu::PathTable;

std::unique_ptr<ops::MemoryModel> BackendChoice::memory() const {
  return std::make_unique<backends::cpu::CpuMemory>(isa, paths, num_threads);
}

BackendChoice choose_backend(const RuntimeFlags& flags) {
  BackendChoice choice;
  choice.isa = backends::cpu::choose_isa_from_environment().value_or_throw();
  choice.paths = flags.reference ? PathTable::reference() : PathTable::for_isa(choice.isa);
  const tools::Cpus cpus = tools::read_cpus();
  choice.num_threads = flags.num_threads != 0 ? flags.num_threads : cpus.num_threads();
  if (flags.pin_threads) {
    if (choice.num_threads > cpus.cores.size()) {
      throw base::Exception(
          base::ErrorKind::kUsage,
          fmt::format("--pin-threads: {} threads want a core each, this process may use {}; give --threads "
                      "{} or fewer",
                      choice.num_threads, cpus.cores.size(), cpus.cores.size()));
    }
    choice.pinned_cpus.assign(cpus.cores.begin(), cpus.cores.begin() + static_cast<std::ptrdiff_t>(choice.num_threads));
  }
  // Every thread reads all weights: of memory in one node the others would read over one link.
  if (cpus.nodes.size() > 1 && choice.num_threads > 1) choice.numa_nodes = cpus.nodes;
  return choice;
}

}  // namespace vitrine::cli
