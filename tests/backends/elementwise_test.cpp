#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "backends/kernel_fixture.h"
#include "base/float16.h"

namespace vitrine::backends::cpu {
namespace {

// Sizes around the width of a vector, so that every remainder is met.
constexpr std::size_t kSizes[] = {1, 15, 16, 17, 31, 33, 64, 100};

TEST(Elementwise, EveryInstructionSetGivesTheSameBits) {
  testing::Random random(41);
  const KernelTable& generic = generic_kernels();
  for (const Isa isa : testing::fast_isas()) {
    const KernelTable& fast = kernel_table(isa);
    for (const std::size_t n : kSizes) {
      const std::vector<float> x = random.normal(n, 4.0F);
      const std::vector<float> y = random.normal(n);
      std::vector<float> a(n);
      std::vector<float> b(n);
      generic.rms_norm(x.data(), y.data(), a.data(), n, 1e-5F);
      fast.rms_norm(x.data(), y.data(), b.data(), n, 1e-5F);
      EXPECT_EQ(a, b) << n;
      a = b = x;
      generic.silu_mul(a.data(), y.data(), n);
      fast.silu_mul(b.data(), y.data(), n);
      EXPECT_EQ(a, b) << n;
      a = b = x;
      generic.gelu_tanh_mul(a.data(), y.data(), n);
      fast.gelu_tanh_mul(b.data(), y.data(), n);
      EXPECT_EQ(a, b) << n;
      a = b = x;
      generic.round_to_bf16(a.data(), n);
      fast.round_to_bf16(b.data(), n);
      EXPECT_EQ(a, b) << n;
    }
  }
}

TEST(Elementwise, ActivationsAreCloseToTheirDefinition) {
  const KernelTable& kernels = kernel_table(supported_isas().back());
  for (float x = -100.0F; x <= 100.0F; x += 0.37F) {
    const float one = 1.0F;
    float silu = x;
    kernels.silu_mul(&silu, &one, 1);
    EXPECT_NEAR(silu, x / (1.0 + std::exp(-static_cast<double>(x))), 1e-6 * std::fabs(x) + 1e-30) << x;
    float gelu = x;
    kernels.gelu_tanh_mul(&gelu, &one, 1);
    const double u = 0.7978845608028654 * (static_cast<double>(x) + 0.044715 * std::pow(x, 3));
    EXPECT_NEAR(gelu, 0.5 * x * (1.0 + std::tanh(u)), 2e-6 * std::fabs(x) + 1e-30) << x;
  }
}

TEST(Elementwise, RoundingToBfloat16IsToNearestEvenWithSubnormalsFlushed) {
  testing::Random random(42);
  std::vector<float> x = random.normal(1000, 1e3F);
  x.insert(x.end(), {0.0F, -0.0F, 1e-40F, -1e-40F, 0x1p-126F, 0x1.fffffep-127F, INFINITY, -INFINITY});
  std::vector<float> got = x;
  kernel_table(supported_isas().back()).round_to_bf16(got.data(), got.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float rounded = base::to_float(base::to_bfloat16(x[i]));
    EXPECT_EQ(got[i], std::fabs(x[i]) < 0x1p-126F ? 0.0F : rounded);
  }
}

TEST(QuantizeRow, CodesAreTheNearestAndSumsAreTheirs) {
  testing::Random random(43);
  const std::size_t k = 96;
  std::vector<float> x = random.normal(k);
  std::fill_n(x.begin() + 32, 32, 0.0F);
  for (const Isa isa : supported_isas()) {
    std::vector<std::int8_t> codes(k);
    std::vector<GroupFactors> factors(k / 32);
    kernel_table(isa).quantize_row(x.data(), k, codes.data(), factors.data());
    EXPECT_EQ(factors[1].scale, 0.0F);
    for (std::size_t i = 0; i < k; ++i) {
      const float scale = factors[i / 32].scale;
      EXPECT_NEAR(static_cast<float>(codes[i]) * scale, x[i], 0.5001F * scale) << isa_name(isa);
    }
    for (std::size_t half = 0; half < k / 16; ++half) {
      std::int32_t sum = 0;
      for (std::size_t i = 0; i < 16; ++i)
        sum += codes[16 * half + i];
      EXPECT_EQ(factors[half / 2].half_sums[half % 2], sum);
    }
    for (std::size_t group = 0; group < k / 32; ++group) {
      const auto sum = static_cast<float>(factors[group].half_sums[0] + factors[group].half_sums[1]);
      EXPECT_EQ(factors[group].scaled_sum, factors[group].scale * sum);
    }
  }
}

}  // namespace
}  // namespace vitrine::backends::cpu
