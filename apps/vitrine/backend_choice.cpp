#include "vitrine/backend_choice.h"

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
  choice.num_threads = flags.num_threads != 0 ? flags.num_threads : tools::read_cpus().num_threads();
  return choice;
}

}  // namespace vitrine::cli
