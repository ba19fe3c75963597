#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/memory_model.h"
#include "tensor/tensor.h"

namespace vitrine::backends::cpu {

// Which heads are packed as kSplitQ8_0, so that the largest result of a row is found from the high bits of most tiles.
enum class HeadScreening : std::uint8_t {
  kWhereItPays,  // those that are large for the width of their inputs
  kAlways,       // every one of Q8_0
  kNever,
};

bool is_screened(const ops::MatrixSize& matrix, HeadScreening screening);

// As pack_tile(), of a weight of Q8_0 to the layout of split_tile.h: `matrix` is the packed matrix, of whose tiles it
// fills one. Of rows past the end nothing is known.
void pack_split_tile(const tensor::TensorView& weight, std::size_t tile_idx, std::uint8_t* matrix);

}  // namespace vitrine::backends::cpu
