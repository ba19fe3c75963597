#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/packed_layout.h"
#include "tensor/tensor.h"

namespace vitrine::backends::cpu {

// Packs output rows [16 tile_idx, 16 tile_idx + 16) of `weight` into `out` (k / block_k blocks of the layout, zeroed by
// the caller: rows past the end stay zero). The weight's type must be the layout's.
void pack_tile(const PackedLayout& layout, const tensor::TensorView& weight, std::size_t tile_idx, std::uint8_t* out);

// The values of a packed tile, [k][16]: bit for bit those of the reference decode.
void unpack_tile(const PackedLayout& layout, const std::uint8_t* tile, std::size_t k, float* values);

}  // namespace vitrine::backends::cpu
