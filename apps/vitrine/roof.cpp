#include "vitrine/roof.h"

#include <algorithm>

#include "backends/cpu/cpu_backend.h"
#include "base/thread_pool.h"
#include "tools/bench/bandwidth.h"
#include "tools/bench/kernel_bench.h"

namespace vitrine::cli {
namespace {

// Enough to be past the caches, little enough to take a moment.
constexpr std::size_t kMostBytesRead = std::size_t{512} << 20U;
constexpr std::size_t kBandwidthReads = 3;

}  // namespace

double measure_read_rate(std::size_t num_threads, double bytes) {
  base::ThreadPool pool(num_threads);
  const auto size = static_cast<std::size_t>(std::min(bytes, static_cast<double>(kMostBytesRead)));
  return tools::median(tools::read_bandwidth(pool, size, kBandwidthReads));
}

explain::Roof measure_roof(const BackendChoice& choice, tensor::DType weight_type, std::size_t weight_bytes) {
  backends::cpu::CpuBackend backend({.isa = choice.isa, .num_threads = choice.num_threads, .paths = choice.paths});
  return {.bytes_per_s = measure_read_rate(choice.num_threads, static_cast<double>(weight_bytes)),
          .flops_per_s = tools::multiply_rate(backend, weight_type, kRoofPromptRows, ops::Role::kPrompt)};
}

}  // namespace vitrine::cli
