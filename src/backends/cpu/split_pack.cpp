#include "backends/cpu/split_pack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/code_plane.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "base/checked.h"
#include "base/float16.h"
#include "quant/q8_0.h"

namespace vitrine::backends::cpu {
namespace {

// Wider inputs tell results less apart for the length of the rows; fewer outputs leave more tiles beside the largest.
constexpr std::size_t kMinOutFeatures = 100'000;
constexpr std::size_t kMinOutputsPerInput = 256;
// The bound of the roundings (docs/numerics.md) holds for so many blocks.
constexpr std::size_t kMaxInFeatures = 65'536;
constexpr float kEndless = std::numeric_limits<float>::infinity();

// What the low bits of a row's codes add around their middle, and the row itself, as sums of squares.
struct RowSquares {
  double low = 0.0;
  double all = 0.0;

  void add(const quant::BlockQ8_0& block) {
    const double scale = static_cast<double>(base::to_float(block.d));
    double low_squares = 0.0;
    double squares = 0.0;
    for (const std::int8_t code : block.qs) {
      const double low_code = static_cast<double>((code + 128) % 8) - 3.5;
      low_squares += low_code * low_code;
      squares += static_cast<double>(code) * static_cast<double>(code);
    }
    low += scale * scale * low_squares;
    all += scale * scale * squares;
  }

  // How far a result from the high bits lies from the whole one at most, for activations of length 1, roundings
  // included. Infinity where a scale is no number.
  base::Float16 bound(std::size_t num_blocks) const {
    const double roundings = static_cast<double>(num_blocks + 8) * 0x1p-23;
    const double exact = (std::sqrt(low) + roundings * (std::sqrt(all) + std::sqrt(low))) * (1.0 + 0x1p-20);
    // Half a step of float16, or of its subnormals, is what rounding takes off at most.
    const double raised = exact * (1.0 + 0x1p-10) + 0x1p-24;
    return base::to_float16(std::isfinite(raised) ? static_cast<float>(raised) : kEndless);
  }
};

// Where a tile's parts lie.
struct TilePlace {
  std::uint8_t* high;
  std::uint8_t* middle;
  std::uint8_t* low;

  TilePlace(std::uint8_t* matrix, std::size_t tile_idx, std::size_t num_tiles, std::size_t k)
      : high(matrix + tile_idx * split_high_bytes(k)),
        middle(matrix + num_tiles * split_high_bytes(k) + tile_idx * split_middle_bytes(k)),
        low(matrix + num_tiles * (split_high_bytes(k) + split_middle_bytes(k)) + tile_idx * split_low_bytes(k)) {}

  void put_block(const quant::BlockQ8_0& block, std::size_t block_idx, std::size_t lane) const {
    std::uint8_t codes[32];
    for (std::size_t i = 0; i < 32; ++i)
      codes[i] = static_cast<std::uint8_t>(block.qs[i] + 128);
    std::uint8_t* scales = high + SplitTile::kHeaderBytes + block_idx * SplitTile::kHighBytes;
    std::memcpy(scales + 2 * lane, &block.d, sizeof(block.d));
    put_plane<4>(codes, 4, 32, lane, scales + 32);
    put_plane<1>(codes, 3, 32, lane, middle + block_idx * SplitTile::kMiddleBytes);
    put_plane<4>(codes, 0, 32, lane, low + block_idx * SplitTile::kLowBytes);
  }
  void put_header(const std::array<base::Float16, kTileRows>& bounds) const {
    const std::int64_t distances[] = {middle - high, low - high};
    std::memcpy(high, bounds.data(), sizeof(bounds));
    std::memcpy(high + SplitTile::kMiddleOffset, distances, sizeof(distances));
  }
};

}  // namespace

bool is_screened(const ops::MatrixSize& matrix, HeadScreening screening) {
  if (screening == HeadScreening::kNever || matrix.use != ops::MatrixUse::kHead) return false;
  if (matrix.type != tensor::DType::kQ8_0 || matrix.in_features > kMaxInFeatures) return false;
  if (screening == HeadScreening::kAlways) return true;
  return matrix.out_features >= kMinOutFeatures && matrix.out_features / kMinOutputsPerInput >= matrix.in_features;
}

void pack_split_tile(const tensor::TensorView& weight, std::size_t tile_idx, std::uint8_t* matrix) {
  const std::size_t k = weight.shape[1];
  const std::size_t first_row = tile_idx * kTileRows;
  const TilePlace place(matrix, tile_idx, base::ceil_div(weight.shape[0], kTileRows), k);
  std::array<base::Float16, kTileRows> bounds;
  bounds.fill(base::to_float16(kEndless));
  for (std::size_t lane = 0; lane < std::min(kTileRows, weight.shape[0] - first_row); ++lane) {
    const std::byte* row = weight.row(first_row + lane);
    RowSquares squares;
    for (std::size_t block_idx = 0; block_idx < k / 32; ++block_idx) {
      const auto block = quant::load_block<quant::BlockQ8_0>(row, block_idx);
      squares.add(block);
      place.put_block(block, block_idx, lane);
    }
    bounds[lane] = squares.bound(k / 32);
  }
  place.put_header(bounds);
}

}  // namespace vitrine::backends::cpu
