// The throughput path on the tile unit: rows are brought into tiles once per operation, weights two tiles of 16 output
// rows at a time, decoded to bf16 in a thread's scratch memory and multiplied with all rows while they are in its
// cache.
#include <algorithm>
#include <array>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/scratch.h"

namespace vitrine::backends::cpu {

void CpuBackend::pack_tile_rows(ops::Rows x, PathRows& rows) {
  const std::size_t num_rows = rows.input_row.size();
  const std::size_t stride = padded_tile_rows(num_rows);
  rows.bf16_stride = stride;
  rows.bf16.ensure(tile_rows_bytes(num_rows, x.width));
  auto* packed = rows.bf16.as<std::uint16_t>();
  pool_.for_range(num_rows, 4, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      kernels_.tile_unit->pack_row(x.row(rows.input_row[i]), x.width, packed + i * kTileK, stride);
  });
}

void CpuBackend::multiply_slabs(const PathRows& rows, const Product& product, std::size_t tile_idx,
                                std::size_t num_slabs, AlignedBuffer& scratch) const {
  const PackedMatrix& matrix = *product.matrix;
  const std::size_t k = matrix.in_features();
  const std::size_t slab_size = num_k_tiles(k) * kTileHalves;
  scratch.ensure(tile_scratch_bytes(k));
  auto* sums = scratch.as<float>();
  auto* slabs = reinterpret_cast<std::uint16_t*>(sums + 2 * kSumsOfSlab);
  for (std::size_t i = 0; i < num_slabs; ++i)
    decode_tile_slab(matrix, tile_idx + i, slabs + i * slab_size);
  for (std::size_t done = 0; done < product.num_rows; done += kTileRowBlock) {
    const std::size_t first_row = product.first_row + done;
    const std::size_t num_rows = std::min(kTileRowBlock, product.num_rows - done);
    std::array<float*, kTileRowBlock> out;
    for (std::size_t i = 0; i < num_rows; ++i)
      out[i] = product.out.row(rows.output_row[first_row + i]) + tile_idx * kTileRows;
    kernels_.tile_unit->multiply({.slabs = slabs,
                                  .slab_stride = slab_size,
                                  .num_slabs = num_slabs,
                                  .k_tiles = num_k_tiles(k),
                                  .rows = rows.bf16.as<std::uint16_t>() + first_row * kTileK,
                                  .row_stride = rows.bf16_stride,
                                  .num_rows = num_rows,
                                  .sums = sums,
                                  .out = out.data(),
                                  .lanes = matrix.lanes(tile_idx + num_slabs - 1)});
  }
}

void CpuBackend::decode_tile_slab(const PackedMatrix& matrix, std::size_t tile_idx, std::uint16_t* slab) const {
  const auto decode = kernels_.tile_unit->decode_slab[static_cast<std::size_t>(matrix.kind())];
  if (decode != nullptr) return decode(matrix.tile(tile_idx), matrix.in_features(), slab);
  std::vector<float> values(matrix.in_features() * kTileRows);
  matrix.decode_source_tile(tile_idx, values.data());
  kernels_.tile_unit->pack_slab(values.data(), matrix.in_features(), slab);
}

// Tiles are counted through all products.
void CpuBackend::multiply_on_tile_unit(const PathRows& rows, AlignedBuffer& scratch, std::size_t begin,
                                       std::size_t end) const {
  kernels_.tile_unit->begin();
  auto product = std::ranges::upper_bound(products_, begin, {}, &Product::end_tile);
  for (std::size_t tile = begin; tile < end;) {
    if (tile == product->end_tile) ++product;
    const std::size_t num_slabs = tile + 1 < std::min(end, product->end_tile) ? 2 : 1;
    multiply_slabs(rows, *product, product->matrix->num_tiles() - (product->end_tile - tile), num_slabs, scratch);
    tile += num_slabs;
  }
  kernels_.tile_unit->end();
}

}  // namespace vitrine::backends::cpu
