#pragma once

#include <string_view>
#include <vector>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/result.h"

namespace vitrine::backends::cpu {

enum class Isa { kGeneric, kAvx2, kAvx512, kAvx512Bf16, kAmx };

std::string_view isa_name(Isa isa);
// Levels that this machine (and its kernel, for AMX) can run, lowest first.
std::vector<Isa> supported_isas();
// The highest supported level, or the one named in `wanted` (empty: none): "generic", "avx2", "avx512", "avx512bf16",
// "amx". kUsage for an unknown name, kUnavailable for a level that this machine lacks.
base::Result<Isa> choose_isa(std::string_view wanted);
// choose_isa() with the environment variable VITRINE_ISA.
base::Result<Isa> choose_isa_from_environment();
const KernelTable& kernel_table(Isa isa);

}  // namespace vitrine::backends::cpu
