#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_fixture.h"
#include "base/float16.h"

namespace vitrine::backends::cpu {
namespace {

std::vector<tensor::DType> quantizable_types() {
  std::vector<tensor::DType> types;
  for (const quant::QuantFormat& format : quant::quant_formats()) {
    if (format.encode != nullptr && format.type != tensor::DType::kF64) types.push_back(format.type);
  }
  return types;
}

std::vector<float> product(CpuBackend& backend, const tensor::TensorView& weight, std::vector<float> x,
                           std::size_t num_rows, ops::Role role, ops::MatrixUse use = ops::MatrixUse::kLayer) {
  const auto matrix = backend.load_matrix(weight, use);
  std::vector<float> out(num_rows * weight.shape[0]);
  const std::vector<ops::Role> roles(num_rows, role);
  const ops::MatmulOutput output{matrix.get(), {out.data(), num_rows, weight.shape[0]}};
  backend.matmul({x.data(), num_rows, weight.shape[1]}, roles, {&output, 1});
  return out;
}

CpuBackend make_backend(Isa isa, PathTable paths = {}, std::size_t num_threads = 1) {
  return CpuBackend({.isa = isa, .num_threads = num_threads, .paths = paths});
}

class MatmulTest : public ::testing::TestWithParam<tensor::DType> {
 protected:
  static constexpr std::size_t kOut = 37;  // the last tile is not full
  static constexpr std::size_t kIn = 512;
  static constexpr std::size_t kRows = 7;
};

// Rounding 32 activations to int8 moves each by at most half a step of amax / 127; bf16 weights and activations are off
// by 2^-9 each.
TEST_P(MatmulTest, EveryPathIsWithinItsRoundingOfTheExactProduct) {
  testing::Random random(21);
  const testing::RandomWeight weight(random, GetParam(), kOut, kIn);
  const std::vector<float> x = random.normal(kRows * kIn);
  const PathTable throughput{NumericPath::kThroughput, NumericPath::kLatency};
  CpuBackend fast = make_backend(Isa::kGeneric, throughput);
  CpuBackend reference = make_backend(Isa::kGeneric, PathTable::reference());
  const std::vector<float> latency_out = product(fast, weight.view, x, kRows, ops::Role::kGenerated);
  const std::vector<float> throughput_out = product(fast, weight.view, x, kRows, ops::Role::kPrompt);
  const std::vector<float> reference_out = product(reference, weight.view, x, kRows, ops::Role::kPrompt);
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t n = 0; n < kOut; ++n) {
      const std::vector<float> w = weight.decoded_row(n);
      double exact = 0.0;
      double magnitude = 0.0;
      double int8_bound = 0.0;
      for (std::size_t group = 0; group < kIn; group += 32) {
        double amax = 0.0;
        double weights = 0.0;
        for (std::size_t i = group; i < group + 32; ++i) {
          const double a = x[row * kIn + i];
          exact += static_cast<double>(w[i]) * a;
          magnitude += std::fabs(static_cast<double>(w[i]) * a);
          amax = std::max(amax, std::fabs(a));
          weights += std::fabs(static_cast<double>(w[i]));
        }
        int8_bound += weights * amax / 254.0;
      }
      const std::size_t at = row * kOut + n;
      EXPECT_NEAR(reference_out[at], exact, 1e-5 * magnitude + 1e-7);
      EXPECT_NEAR(throughput_out[at], exact, magnitude * 0x1p-7 + 1e-7);
      EXPECT_NEAR(latency_out[at], exact, int8_bound + 1e-5 * magnitude + 1e-7);
    }
  }
}

TEST_P(MatmulTest, EveryInstructionSetGivesTheSameBits) {
  testing::Random random(22);
  const testing::RandomWeight weight(random, GetParam(), kOut, kIn);
  const std::vector<float> x = random.normal(kRows * kIn);
  const PathTable throughput{NumericPath::kThroughput, NumericPath::kLatency};
  CpuBackend generic = make_backend(Isa::kGeneric, throughput);
  for (const Isa isa : testing::fast_isas()) {
    CpuBackend fast = make_backend(isa, throughput);
    for (const ops::Role role : {ops::Role::kPrompt, ops::Role::kGenerated}) {
      EXPECT_EQ(product(fast, weight.view, x, kRows, role), product(generic, weight.view, x, kRows, role))
          << isa_name(isa);
    }
  }
}

TEST_P(MatmulTest, ARowsBitsDependNeitherOnItsNeighboursNorOnThreads) {
  testing::Random random(23);
  const testing::RandomWeight weight(random, GetParam(), kOut, kIn);
  const std::vector<float> x = random.normal(kRows * kIn);
  const PathTable throughput{NumericPath::kThroughput, NumericPath::kLatency};
  CpuBackend one = make_backend(supported_isas().back(), throughput, 1);
  CpuBackend two = make_backend(supported_isas().back(), throughput, 2);
  for (const ops::Role role : {ops::Role::kPrompt, ops::Role::kGenerated}) {
    const std::vector<float> together = product(two, weight.view, x, kRows, role);
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::vector<float> alone_x(x.begin() + static_cast<std::ptrdiff_t>(row * kIn),
                                       x.begin() + static_cast<std::ptrdiff_t>((row + 1) * kIn));
      const std::vector<float> alone = product(one, weight.view, alone_x, 1, role);
      EXPECT_TRUE(std::ranges::equal(alone, std::span(together).subspan(row * kOut, kOut))) << "row " << row;
    }
  }
}

// As many rows as share a decoded weight, and inputs that fill more than one stretch of it.
TEST_P(MatmulTest, ManyRowsGetTheBitsOfEachAlone) {
  constexpr std::size_t kManyRows = 35;
  constexpr std::size_t kManyIn = 1280;
  testing::Random random(27);
  const testing::RandomWeight weight(random, GetParam(), kOut, kManyIn);
  const std::vector<float> x = random.normal(kManyRows * kManyIn);
  const PathTable throughput{NumericPath::kThroughput, NumericPath::kLatency};
  CpuBackend generic = make_backend(Isa::kGeneric, throughput);
  for (const ops::Role role : {ops::Role::kPrompt, ops::Role::kGenerated}) {
    const std::vector<float> wanted = product(generic, weight.view, x, kManyRows, role);
    for (const Isa isa : testing::fast_isas()) {
      CpuBackend fast = make_backend(isa, throughput, 2);
      EXPECT_EQ(product(fast, weight.view, x, kManyRows, role), wanted) << isa_name(isa);
    }
  }
}

TEST(Matmul, InputsThatDoNotFillABlockOf32CountOnce) {
  testing::Random random(28);
  const PathTable throughput{NumericPath::kThroughput, NumericPath::kLatency};
  for (const tensor::DType type : {tensor::DType::kF32, tensor::DType::kF16, tensor::DType::kBF16}) {
    for (const std::size_t k : {24U, 75U}) {
      const testing::RandomWeight weight(random, type, 40, k);
      const std::vector<float> x = random.normal(3 * k);
      CpuBackend generic = make_backend(Isa::kGeneric, throughput);
      const std::vector<float> wanted = product(generic, weight.view, x, 3, ops::Role::kPrompt);
      for (const Isa isa : testing::fast_isas()) {
        CpuBackend fast = make_backend(isa, throughput);
        EXPECT_EQ(product(fast, weight.view, x, 3, ops::Role::kPrompt), wanted) << isa_name(isa) << " " << k;
      }
    }
  }
}

TEST_P(MatmulTest, TheHeadTakesOnePathForBothRoles) {
  testing::Random random(24);
  const testing::RandomWeight weight(random, GetParam(), kOut, kIn);
  const std::vector<float> x = random.normal(kIn);
  CpuBackend backend = make_backend(supported_isas().back(), {NumericPath::kThroughput, NumericPath::kLatency});
  EXPECT_EQ(product(backend, weight.view, x, 1, ops::Role::kPrompt, ops::MatrixUse::kHead),
            product(backend, weight.view, x, 1, ops::Role::kGenerated, ops::MatrixUse::kHead));
}

TEST_P(MatmulTest, ANotANumberReachesEveryResultOfItsRow) {
  testing::Random random(25);
  const testing::RandomWeight weight(random, GetParam(), kOut, kIn);
  for (const float broken : {std::nanf(""), INFINITY}) {
    std::vector<float> x = random.normal(2 * kIn);
    x[100] = broken;
    for (const Isa isa : supported_isas()) {
      CpuBackend backend = make_backend(isa, {NumericPath::kThroughput, NumericPath::kLatency});
      for (const ops::Role role : {ops::Role::kPrompt, ops::Role::kGenerated}) {
        const std::vector<float> out = product(backend, weight.view, x, 2, role);
        EXPECT_TRUE(
            std::none_of(out.begin(), out.begin() + kOut, [](float v) { return std::isfinite(v) && v != 0.0F; }));
        EXPECT_TRUE(std::all_of(out.begin() + kOut, out.end(), [](float v) { return std::isfinite(v); }));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulTest, ::testing::ValuesIn(quantizable_types()),
                         [](const auto& test) { return std::string(tensor::dtype_info(test.param).name); });

// What LDTILECFG reads (Intel SDM): here tile 0 is one row of sums, tile 1 one of inputs, tile 2 sixteen rows of
// weights.
struct TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{64, 64, 64};
  std::array<std::uint8_t, 16> rows{1, 1, 16};
};
static_assert(sizeof(TileConfig) == 64);

// g++ 12 does not tell the compiler that the loads of the tile unit read memory: without this it might drop the stores.
inline void finish_stores(const void* memory) {
  __asm__ volatile("" : : "r"(memory) : "memory");
}

// The product of x [k] with a weight [16, k] of bf16 values by the tile unit itself: TDPBF16PS takes 32 inputs at a
// time.
[[gnu::target("amx-tile,amx-bf16")]] std::vector<float> tile_product(const testing::RandomWeight& weight,
                                                                     const std::vector<float>& x) {
  const auto* values = reinterpret_cast<const base::BFloat16*>(weight.bytes.data());
  const std::size_t k = x.size();
  std::vector<float> sums(16, 0.0F);
  const TileConfig config;
  finish_stores(&config);
  _tile_loadconfig(&config);
  finish_stores(sums.data());
  _tile_loadd(0, sums.data(), 64);
  for (std::size_t group = 0; group < k; group += 32) {
    std::array<base::BFloat16, 32> inputs{};
    std::array<base::BFloat16, 16 * 32> pairs{};  // row p holds inputs 2 p and 2 p + 1 of each output
    for (std::size_t i = 0; i < 32; ++i) {
      inputs[i] = base::to_bfloat16(x[group + i]);
      for (std::size_t n = 0; n < 16; ++n)
        pairs[i / 2 * 32 + 2 * n + i % 2] = values[n * k + group + i];
    }
    finish_stores(inputs.data());
    finish_stores(pairs.data());
    _tile_loadd(1, inputs.data(), 64);
    _tile_loadd(2, pairs.data(), 64);
    _tile_dpbf16ps(0, 1, 2);
  }
  _tile_stored(0, sums.data(), 64);
  _tile_release();
  return sums;
}

// The throughput path spelt out: bf16 operands, per 32 inputs one chain over the even and one over the odd, subnormals
// flushed.
TEST(ThroughputPath, IsTheTileUnitsOrderOfOperations) {
  testing::Random random(26);
  const std::size_t k = 96;
  const testing::RandomWeight weight(random, tensor::DType::kBF16, 16, k);
  const std::vector<float> x = random.normal(k);
  const auto flush = [](float v) { return std::fabs(v) < 0x1p-126F ? std::copysign(0.0F, v) : v; };
  std::vector<float> wanted;
  for (std::size_t n = 0; n < 16; ++n) {
    const std::vector<float> w = weight.decoded_row(n);
    float sum = 0.0F;
    for (std::size_t group = 0; group < k; group += 32) {
      float even = 0.0F;
      float odd = 0.0F;
      for (std::size_t i = group; i < group + 32; i += 2) {
        even = flush(std::fma(w[i], base::to_float(base::to_bfloat16(x[i])), even));
        odd = flush(std::fma(w[i + 1], base::to_float(base::to_bfloat16(x[i + 1])), odd));
      }
      sum = flush(sum + flush(even + odd));
    }
    wanted.push_back(sum);
  }
  for (const Isa isa : supported_isas()) {
    CpuBackend backend = make_backend(isa, {NumericPath::kThroughput, NumericPath::kLatency});
    EXPECT_EQ(product(backend, weight.view, x, 1, ops::Role::kPrompt), wanted) << isa_name(isa);
  }
  if (choose_isa("amx")) {
    testing::count_cases("tile unit", 1);
    EXPECT_EQ(tile_product(weight, x), wanted);
  } else {
    testing::count_skipped("tile unit", 1, "this machine lacks AMX");
  }
}

}  // namespace
}  // namespace vitrine::backends::cpu
