#pragma once

#include "backends/cpu/kernels/kernel_table.h"

namespace vitrine::backends::cpu {

// What kernels/amx.cpp has, with tile registers in memory: every load, store and product is where the real unit's is.
// Needs AVX512-BF16.
const TileUnit& soft_tile_unit();

}  // namespace vitrine::backends::cpu
