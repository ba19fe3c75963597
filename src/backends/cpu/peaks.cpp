#include "backends/cpu/peaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/elapsed.h"

namespace vitrine::backends::cpu {
namespace {

constexpr std::size_t kStepsPerPiece = 20'000;
constexpr std::size_t kPiecesPerThread = 8;
constexpr double kRunSeconds = 0.02;
constexpr int kNumRuns = 5;

double run_once(PeakLoop loop, base::ThreadPool& pool) {
  const auto began = std::chrono::steady_clock::now();
  std::atomic<double> num_ops = 0.0;
  double seconds = 0.0;
  while (seconds < kRunSeconds) {
    pool.for_range(pool.num_threads() * kPiecesPerThread, 1, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t piece = begin; piece < end; ++piece)
        num_ops.fetch_add(loop(kStepsPerPiece));
    });
    seconds = base::seconds_since(began);
  }
  return num_ops / seconds;
}

double best_of(PeakLoop loop, base::ThreadPool& pool) {
  double best = 0.0;
  for (int run = 0; run < kNumRuns; ++run)
    best = std::max(best, run_once(loop, pool));
  return best;
}

}  // namespace

std::vector<Peak> measure_peaks(Isa isa, base::ThreadPool& pool) {
  const KernelTable& kernels = kernel_table(isa);
  std::vector<Peak> peaks = {{"float32", best_of(kernels.float_peak, pool)},
                             {"int8", best_of(kernels.int8_peak, pool)}};
  if (kernels.pair_unit != nullptr) peaks.push_back({"bf16 pairs", best_of(kernels.pair_unit->peak, pool)});
  if (kernels.tile_unit != nullptr) peaks.push_back({"bf16 tiles", best_of(kernels.tile_unit->peak, pool)});
  return peaks;
}

}  // namespace vitrine::backends::cpu
