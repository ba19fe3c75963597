// Speed of one thread's matrix products: weight bytes per second (the roof of generated rows) and multiply-adds per
// second (the roof of prompt rows), for every packed layout, instruction set and number of rows.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "backends/cpu/cpu_backend.h"
#include "quant/quant_format.h"

namespace {

using namespace vitrine;
using backends::cpu::CpuBackend;

constexpr std::size_t kOutFeatures = 1536;
constexpr std::size_t kInFeatures = 1536;

std::vector<std::byte> random_weights(tensor::DType type) {
  std::vector<std::byte> bytes(kOutFeatures * *tensor::dtype_bytes(type, kInFeatures));
  std::vector<float> row(kInFeatures);
  std::uint32_t state = 1;
  const quant::QuantFormat* format = quant::find_quant_format(type);
  for (std::size_t row_idx = 0; row_idx < kOutFeatures; ++row_idx) {
    for (float& value : row) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 8U) / 8388608.0F - 1.0F;
    }
    format->encode(row.data(), bytes.data() + row_idx * *tensor::dtype_bytes(type, kInFeatures), kInFeatures);
  }
  return bytes;
}

void matmul(benchmark::State& state, backends::cpu::Isa isa, tensor::DType type) {
  const auto num_rows = static_cast<std::size_t>(state.range(0));
  CpuBackend backend({.isa = isa, .num_threads = 1, .paths = {}});
  const std::vector<std::byte> bytes = random_weights(type);
  const auto matrix = backend.load_matrix({type, {kOutFeatures, kInFeatures}, bytes.data()}, ops::MatrixUse::kLayer);
  std::vector<float> in(num_rows * kInFeatures, 0.5F);
  std::vector<float> out(num_rows * kOutFeatures);
  const std::vector<ops::Role> roles(num_rows, ops::Role::kGenerated);
  const ops::MatmulOutput output{matrix.get(), {out.data(), num_rows, kOutFeatures}};
  for (auto _ : state) {
    backend.matmul({in.data(), num_rows, kInFeatures}, roles, {&output, 1});
    benchmark::DoNotOptimize(out.data());
  }
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["weights"] =
      benchmark::Counter(iterations * static_cast<double>(matrix->size_bytes()), benchmark::Counter::kIsRate);
  state.counters["multiply_adds"] = benchmark::Counter(
      iterations * static_cast<double>(num_rows * kOutFeatures * kInFeatures), benchmark::Counter::kIsRate);
}

const bool kRegistered = [] {
  for (const auto isa : backends::cpu::supported_isas()) {
    for (const auto type : {tensor::DType::kQ4_1, tensor::DType::kQ5_0, tensor::DType::kQ8_0, tensor::DType::kQ4_K,
                            tensor::DType::kQ6_K, tensor::DType::kF16}) {
      const std::string name =
          std::string(backends::cpu::isa_name(isa)) + "/" + std::string(tensor::dtype_info(type).name);
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { matmul(state, isa, type); })
          ->Arg(1)
          ->Arg(64);
    }
  }
  return true;
}();

}  // namespace
