#pragma once

#include <string_view>
#include <vector>

#include "backends/cpu/isa.h"
#include "base/thread_pool.h"

namespace vitrine::backends::cpu {

// What this machine computes at most in one of the ways that the kernels have.
struct Peak {
  std::string_view what;  // "float32", "int8", "bf16 pairs", "bf16 tiles"
  double ops_per_s;       // multiplications and additions
};

// Of an instruction set that this machine has, all threads of the pool at once: a tenth of a second for each, the best
// of five.
std::vector<Peak> measure_peaks(Isa isa, base::ThreadPool& pool);

}  // namespace vitrine::backends::cpu
