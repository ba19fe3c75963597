#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/kernel_fixture.h"
#include "base/float16.h"

namespace vitrine::backends::cpu {
namespace {

// nullptr, counted as skipped, where this machine has no tile unit.
const TileUnit* tile_unit() {
  const std::vector<Isa> isas = testing::fast_isas();
  return isas.empty() ? nullptr : kernel_table(isas.back()).tile_unit;
}

std::uint16_t bf16_bits(float value) {
  return base::to_bfloat16(value).bits;
}

TEST(TileUnit, RowsLieAsTilesOfThirtyTwoInputsReadThem) {
  const TileUnit* unit = tile_unit();
  if (unit == nullptr) return;
  testing::Random random(51);
  const std::size_t k = 75;
  const std::size_t stride = 48;
  const std::vector<float> x = random.normal(k);
  std::vector<std::uint16_t> packed(num_k_tiles(k) * stride * kTileK, 0xFFFF);
  unit->pack_row(x.data(), k, packed.data() + 5 * kTileK, stride);
  for (std::size_t i = 0; i < num_k_tiles(k) * kTileK; ++i) {
    const std::uint16_t got = packed[(i / kTileK * stride + 5) * kTileK + i % kTileK];
    EXPECT_EQ(got, i < k ? bf16_bits(x[i]) : 0) << i;
  }
}

TEST(TileUnit, WeightsLieInPairsOfInputs) {
  const TileUnit* unit = tile_unit();
  if (unit == nullptr) return;
  testing::Random random(52);
  const std::size_t k = 75;
  const std::vector<float> values = random.normal(k * kTileRows);
  std::vector<std::uint16_t> slab(num_k_tiles(k) * kTileK * kTileRows, 0xFFFF);
  unit->pack_slab(values.data(), k, slab.data());
  for (std::size_t i = 0; i < num_k_tiles(k) * kTileK; ++i) {
    for (std::size_t row = 0; row < kTileRows; ++row) {
      const std::uint16_t got = slab[i / 2 * 2 * kTileRows + 2 * row + i % 2];
      EXPECT_EQ(got, i < k ? bf16_bits(values[i * kTileRows + row]) : 0) << i << " " << row;
    }
  }
}

}  // namespace
}  // namespace vitrine::backends::cpu
