#include "tools/bench/multiply.h"

#include <array>
#include <chrono>
#include <cmath>
#include <vector>

#include "quant/quant_format.h"
#include "tools/bench/bandwidth.h"

namespace vitrine::tools {
namespace {

constexpr std::size_t kFeatures = 2048;  // of the matrix, both ways
constexpr std::size_t kNumRuns = 5;
constexpr double kRunSeconds = 0.06;

// Any values will do as long as none is so small or large that it is slow.
std::vector<float> some_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<float>(i));
  return values;
}

std::vector<std::byte> some_weights(tensor::DType type) {
  const quant::QuantFormat& format = *quant::find_quant_format(type);
  const std::size_t row_bytes = *tensor::dtype_bytes(type, kFeatures);
  const std::vector<float> values = some_values(kFeatures);
  std::vector<std::byte> bytes(kFeatures * row_bytes);
  format.encode(values.data(), bytes.data(), kFeatures);
  for (std::size_t i = row_bytes; i < bytes.size(); ++i)
    bytes[i] = bytes[i - row_bytes];
  return bytes;
}

}  // namespace

double multiply_rate(ops::Backend& backend, tensor::DType type, std::size_t num_rows, ops::Role role) {
  using Clock = std::chrono::steady_clock;
  const bool can_encode = quant::find_quant_format(type)->encode != nullptr;
  const tensor::DType used = can_encode ? type : tensor::DType::kQ4_K;
  const std::vector<std::byte> bytes = some_weights(used);
  const auto matrix = backend.load_matrix({used, {kFeatures, kFeatures}, bytes.data()}, ops::MatrixUse::kLayer);
  std::vector<float> input = some_values(num_rows * kFeatures);
  std::vector<float> output(num_rows * kFeatures);
  const std::vector<ops::Role> roles(num_rows, role);
  const ops::Rows rows{input.data(), num_rows, kFeatures};
  const std::array outputs{ops::MatmulOutput{matrix.get(), {output.data(), num_rows, kFeatures}}};
  const double flops = 2.0 * static_cast<double>(num_rows * kFeatures * kFeatures);
  std::vector<double> rates;
  for (std::size_t run = 0; run <= kNumRuns; ++run) {
    const auto start = Clock::now();
    std::chrono::duration<double> took{};
    double done = 0.0;
    while (took.count() < kRunSeconds) {
      backend.matmul(rows, roles, outputs);
      done += flops;
      took = Clock::now() - start;
    }
    if (run > 0) rates.push_back(done / took.count());
  }
  return median(rates);
}

}  // namespace vitrine::tools
