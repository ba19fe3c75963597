#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backends/cpu/cpu_memory.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

// What a model is going to run on. A forecast and the backend itself are made from the same choice.
struct BackendChoice {
  backends::cpu::Isa isa = backends::cpu::Isa::kGeneric;
  backends::cpu::PathTable paths;
  std::size_t num_threads = 1;
  std::vector<unsigned> pinned_cpus{};  // of each thread, where they are to be kept on theirs; else empty
  std::vector<unsigned> numa_nodes{};   // that memory comes from by turns; empty: as the system sees fit

  std::unique_ptr<ops::MemoryModel> memory() const;
};
// By the flags, this machine and VITRINE_ISA. Throws base::Exception for a wrong one.
BackendChoice choose_backend(const RuntimeFlags& flags);

}  // namespace vitrine::cli
