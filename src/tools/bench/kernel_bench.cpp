#include "tools/bench/kernel_bench.h"

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "base/checked.h"
#include "base/elapsed.h"
#include "quant/quant_format.h"
#include "tools/bench/bandwidth.h"

namespace vitrine::tools {
namespace {

constexpr std::size_t kKernelRuns = 5;
constexpr double kKernelRunSeconds = 0.05;
constexpr std::size_t kRateFeatures = 2048;

// None so small or large that it is slow.
std::vector<float> sine_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<float>(i));
  return values;
}

double time_of(const std::function<void()>& operation) {
  std::vector<double> seconds;
  for (std::size_t run = 0; run <= kKernelRuns; ++run) {
    const auto began = std::chrono::steady_clock::now();
    std::size_t count = 0;
    double took = 0.0;
    while (took < kKernelRunSeconds) {
      operation();
      ++count;
      took = base::seconds_since(began);
    }
    if (run > 0) seconds.push_back(took / static_cast<double>(count));
  }
  return median(std::move(seconds));
}

// Each row the same: encoding is no part of what is timed.
std::optional<std::vector<std::byte>> encode_rows(tensor::DType type, std::size_t num_rows, std::size_t width) {
  const quant::QuantFormat* format = quant::find_quant_format(type);
  if (format == nullptr || format->encode == nullptr) return std::nullopt;
  const std::size_t row_bytes = *tensor::dtype_bytes(type, width);
  std::vector<std::byte> bytes(num_rows * row_bytes);
  format->encode(sine_values(width).data(), bytes.data(), width);
  for (std::size_t i = row_bytes; i < bytes.size(); ++i)
    bytes[i] = bytes[i - row_bytes];
  return bytes;
}

}  // namespace

std::optional<KernelTiming> time_product(ops::Backend& backend, const ProductShape& shape) {
  const auto bytes = encode_rows(shape.type, shape.out_features, shape.in_features);
  if (!bytes) return std::nullopt;
  const tensor::TensorView weight{shape.type, {shape.out_features, shape.in_features}, bytes->data()};
  const auto matrix = backend.load_matrix(weight, ops::MatrixUse::kLayer);
  std::vector<float> input = sine_values(shape.num_rows * shape.in_features);
  std::vector<float> output(shape.num_rows * shape.out_features);
  const std::vector<ops::Role> roles(shape.num_rows, shape.role);
  const ops::Rows rows{input.data(), shape.num_rows, shape.in_features};
  const std::array outputs{ops::MatmulOutput{matrix.get(), {output.data(), shape.num_rows, shape.out_features}}};
  return KernelTiming{
      .seconds = time_of([&] { backend.matmul(rows, roles, outputs); }),
      .bytes = static_cast<double>(matrix->read_bytes()),
      .ops = 2.0 * static_cast<double>(shape.num_rows * shape.in_features) * static_cast<double>(shape.out_features)};
}

double multiply_rate(ops::Backend& backend, tensor::DType type, std::size_t num_rows, ops::Role role) {
  ProductShape shape{
      .type = type, .num_rows = num_rows, .out_features = kRateFeatures, .in_features = kRateFeatures, .role = role};
  std::optional<KernelTiming> timing = time_product(backend, shape);
  if (!timing) {
    shape.type = tensor::DType::kQ4_K;
    timing = time_product(backend, shape);
  }
  return timing->ops / timing->seconds;
}

KernelTiming time_attention(ops::Backend& backend, const AttentionBench& shape) {
  const kvcache::KvCacheShape cache_shape{
      .num_layers = 1, .num_kv_heads = shape.num_kv_heads, .head_dim = shape.head_dim, .type = shape.type};
  const std::size_t num_blocks = base::ceil_div(shape.length, kvcache::kBlockTokens);
  kvcache::KvCache cache = kvcache::KvCache::create(cache_shape, num_blocks).value_or_throw();
  std::vector<kvcache::BlockId> table;
  for (std::size_t i = 0; i < num_blocks; ++i)
    table.push_back(static_cast<kvcache::BlockId>(i));
  const auto context = [&](std::size_t first, std::size_t count, std::array<ops::SequenceRows, 1>& sequences) {
    sequences[0] = {.first_row = 0,
                    .num_rows = count,
                    .first_position = first,
                    .prompt_tokens = shape.length,
                    .block_table = table};
    return ops::AttentionContext{&cache, 0, sequences};
  };
  std::array<ops::SequenceRows, 1> sequences;
  const std::size_t kv_width = shape.num_kv_heads * shape.head_dim;
  std::vector<float> filling = sine_values(shape.length * kv_width);
  const ops::Rows kv{filling.data(), shape.length, kv_width};
  backend.store_kv(kv, kv, context(0, shape.length, sequences));

  const std::size_t width = shape.num_heads * shape.head_dim;
  std::vector<float> queries = sine_values(shape.num_rows * width);
  std::vector<float> output(queries.size());
  const std::size_t first = shape.length - shape.num_rows;
  const ops::AttentionContext looked_at = context(first, shape.num_rows, sequences);
  const ops::AttentionShape attention{
      .num_heads = shape.num_heads, .scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim)), .window = 0};
  const auto num_scores = static_cast<double>(shape.num_rows) *
                          (static_cast<double>(first) + 0.5 * static_cast<double>(shape.num_rows + 1));
  return {.seconds = time_of([&] {
            backend.attention({queries.data(), shape.num_rows, width}, attention, looked_at,
                              {output.data(), shape.num_rows, width});
          }),
          .bytes = static_cast<double>(cache.size_bytes()),
          .ops = 4.0 * num_scores * static_cast<double>(width)};
}

}  // namespace vitrine::tools
