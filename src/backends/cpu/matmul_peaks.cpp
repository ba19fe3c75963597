// The largest result of each row without the others. Of a head in the layout kSplitQ8_0 most tiles are read to their
// high bits alone: those that can't hold the largest result then (docs/numerics.md).
#include <algorithm>
#include <array>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/scratch.h"
#include "base/order_key.h"

namespace vitrine::backends::cpu {
namespace {

// Bytes of high bits that a thread takes at a time: what it asks for ahead at the end of a piece is for another.
constexpr std::size_t kScreenChunkBytes = 512 * 1024;

// Of a row of which nothing was seen yet.
LanePeaks no_peaks() {
  LanePeaks peaks;
  std::ranges::fill(peaks.largest, std::numeric_limits<std::int32_t>::min());
  std::ranges::fill(peaks.tiles, 0);
  std::ranges::fill(peaks.smallest, base::kPlusInfinityKey);
  return peaks;
}

}  // namespace

// Of what all threads saw.
std::optional<base::RowPeak> CpuBackend::find_peak(std::size_t row_idx, std::size_t num_rows) const {
  std::int32_t largest = base::kMinusInfinityKey;
  std::int32_t smallest = base::kPlusInfinityKey;
  std::size_t position = 0;
  for (const AlignedBuffer& scratch : thread_scratch_) {
    const LanePeaks& peaks = peaks_in(scratch, num_rows)[row_idx];
    for (std::size_t lane = 0; lane < kTileRows; ++lane) {
      smallest = std::min(smallest, peaks.smallest[lane]);
      const std::size_t place = static_cast<std::size_t>(peaks.tiles[lane]) * kTileRows + lane;
      if (peaks.largest[lane] < largest || (peaks.largest[lane] == largest && place >= position)) continue;
      largest = peaks.largest[lane];
      position = place;
    }
  }
  if (base::has_nan_or_infinity(smallest, largest) || largest == base::kMinusInfinityKey) return std::nullopt;
  return base::RowPeak{base::from_order_key(largest), position};
}

bool CpuBackend::do_matmul_peaks(ops::Rows x, std::span<const ops::Role> roles, const ops::Matrix& matrix,
                                 std::span<std::optional<base::RowPeak>> peaks) {
  const PackedMatrix& weight = packed(matrix);
  split_rows(roles, weight.use());
  // A tile's values take the scratch that the results would.
  if (!throughput_rows_.input_row.empty() || weight.kind() == PackedKind::kRaw) return false;
  products_.clear();
  add_product(matrix, {}, 0, x.num_rows);
  products_.back().keeps_peaks = true;
  for (AlignedBuffer& scratch : thread_scratch_) {
    scratch.ensure(peaks_scratch_bytes(x.num_rows));
    std::fill_n(peaks_in(scratch, x.num_rows), x.num_rows, no_peaks());
  }
  prepare_rows(x, latency_rows_);
  if (!multiply_screened()) multiply_prepared(latency_rows_);
  for (std::size_t row_idx = 0; row_idx < x.num_rows; ++row_idx)
    peaks[row_idx] = find_peak(row_idx, x.num_rows);
  return true;
}

// False where the product is to be computed in full: nothing was noted.
bool CpuBackend::multiply_screened() {
  const Product& product = products_.back();
  const PackedMatrix& matrix = *product.matrix;
  if (matrix.kind() != PackedKind::kSplitQ8_0 || product.num_rows > kMaxScreenedRows) return false;
  const std::size_t k = matrix.in_features();
  std::array<float, kMaxScreenedRows> lengths{};
  for (std::size_t row = 0; row < product.num_rows; ++row) {
    const std::optional<float> length =
        length_of_row(latency_rows_.codes.as<std::int8_t>() + row * k,
                      latency_rows_.factors.as<GroupFactors>() + row * (k / kActivationGroup), k);
    if (!length) return false;
    lengths[row] = *length;
  }
  if (!screening_pace_.is_due()) return false;
  screening_.ensure(screening_bytes(product.num_rows, matrix.num_tiles(), pool_.num_threads()));
  const std::array<std::size_t, kMaxScreenedRows> sure_tiles = screen_tiles(lengths.data());
  const std::span<const std::uint32_t> left = tiles_left(sure_tiles.data());
  if (!screening_pace_.is_worthwhile(left.size(), matrix.num_tiles())) return false;
  ++num_screened_products_;
  pool_.for_range(left.size(), 4, [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      multiply_tile(latency_rows_, {&product, left[i], 1, nullptr, 0, product.num_rows, &thread_scratch_[thread_idx]});
  });
  return true;
}

// Leaves the ceilings of all tiles in the scratch. Of each row, the tile that surely holds a large result.
std::array<std::size_t, kMaxScreenedRows> CpuBackend::screen_tiles(const float* lengths) {
  const Product& product = products_.back();
  const PackedMatrix& matrix = *product.matrix;
  const ScreeningScratch scratch(screening_.data(), product.num_rows, matrix.num_tiles());
  std::fill_n(scratch.sure_tiles, pool_.num_threads() * product.num_rows,
              SureTile{-std::numeric_limits<float>::infinity(), 0});
  const std::size_t for_cache = std::max<std::size_t>(1, kScreenChunkBytes / matrix.tile_bytes());
  const std::size_t for_balance = std::max<std::size_t>(1, matrix.num_tiles() / (4 * pool_.num_threads()));
  pool_.for_range(matrix.num_tiles(), std::min(for_cache, for_balance),
                  [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
                    kernels_.screen_tiles(
                        {.first = matrix.tile(begin),
                         .tile_idx = begin,
                         .num_tiles = end - begin,
                         .k = matrix.in_features(),
                         .rows = {latency_rows_.codes.as<std::int8_t>(), latency_rows_.factors.as<GroupFactors>()},
                         .num_rows = product.num_rows,
                         .lengths = lengths,
                         .ceilings = scratch.ceilings + begin,
                         .ceilings_stride = matrix.num_tiles(),
                         .sure_tiles = scratch.sure_tiles + thread_idx * product.num_rows});
                  });
  std::array<std::size_t, kMaxScreenedRows> found{};
  for (std::size_t row = 0; row < product.num_rows; ++row) {
    SureTile best = scratch.sure_tiles[row];
    for (std::size_t thread_idx = 1; thread_idx < pool_.num_threads(); ++thread_idx) {
      const SureTile& other = scratch.sure_tiles[thread_idx * product.num_rows + row];
      if (other.floor > best.floor) best = other;
    }
    found[row] = best.tile_idx;
  }
  return found;
}

// In their order, the tiles that can hold a row's largest result: what the row's sure tile holds is the bar.
std::span<const std::uint32_t> CpuBackend::tiles_left(const std::size_t* sure_tiles) {
  const Product& product = products_.back();
  const std::size_t num_tiles = product.matrix->num_tiles();
  const ScreeningScratch scratch(screening_.data(), product.num_rows, num_tiles);
  std::array<float, kMaxScreenedRows> bars{};
  for (std::size_t row = 0; row < product.num_rows; ++row) {
    std::array<float, kTileRows> values;
    float* const out = values.data();
    const std::size_t lanes = product.matrix->lanes(sure_tiles[row]);
    run_tile_kernel(latency_rows_, {&product, sure_tiles[row], 1, nullptr, row, 1, nullptr}, &out, lanes);
    bars[row] = -std::numeric_limits<float>::infinity();
    for (std::size_t lane = 0; lane < lanes; ++lane)
      bars[row] = values[lane] > bars[row] ? values[lane] : bars[row];
  }
  std::size_t num_left = 0;
  for (std::size_t tile = 0; tile < num_tiles; ++tile) {
    bool is_left = false;
    for (std::size_t row = 0; row < product.num_rows; ++row)
      is_left |= scratch.ceilings[row * num_tiles + tile] >= bars[row];
    scratch.tiles_left[num_left] = static_cast<std::uint32_t>(tile);
    num_left += is_left ? 1 : 0;
  }
  return {scratch.tiles_left, num_left};
}

}  // namespace vitrine::backends::cpu
