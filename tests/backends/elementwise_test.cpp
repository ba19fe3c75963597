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
      generic.silu_mul(x.data(), y.data(), a.data(), n);
      fast.silu_mul(x.data(), y.data(), b.data(), n);
      EXPECT_EQ(a, b) << n;
      generic.gelu_tanh_mul(x.data(), y.data(), a.data(), n);
      fast.gelu_tanh_mul(x.data(), y.data(), b.data(), n);
      EXPECT_EQ(a, b) << n;
      a = b = x;
      std::vector<float> a_second = y;
      std::vector<float> b_second = y;
      const std::vector<float> cosines = random.normal(n);
      const std::vector<float> sines = random.normal(n);
      generic.rotate_pairs(a.data(), a_second.data(), cosines.data(), sines.data(), n);
      fast.rotate_pairs(b.data(), b_second.data(), cosines.data(), sines.data(), n);
      EXPECT_EQ(a, b) << n;
      EXPECT_EQ(a_second, b_second) << n;
      a = b = x;
      generic.round_to_bf16(a.data(), n);
      fast.round_to_bf16(b.data(), n);
      EXPECT_EQ(a, b) << n;
    }
  }
}

TEST(Elementwise, PairsAreTurnedWithARoundingAfterEachOperation) {
  testing::Random random(43);
  for (const std::size_t n : kSizes) {
    const std::vector<float> x = random.normal(n);
    const std::vector<float> y = random.normal(n);
    const std::vector<float> cosines = random.normal(n);
    const std::vector<float> sines = random.normal(n);
    std::vector<float> first = x;
    std::vector<float> second = y;
    kernel_table(supported_isas().back()).rotate_pairs(first.data(), second.data(), cosines.data(), sines.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(first[i], x[i] * cosines[i] - y[i] * sines[i]);
      EXPECT_EQ(second[i], y[i] * cosines[i] + x[i] * sines[i]);
    }
  }
}

TEST(Elementwise, ActivationsAreCloseToTheirDefinition) {
  const KernelTable& kernels = kernel_table(supported_isas().back());
  for (float x = -100.0F; x <= 100.0F; x += 0.37F) {
    const float one = 1.0F;
    float silu = x;
    kernels.silu_mul(&silu, &one, &silu, 1);
    EXPECT_NEAR(silu, x / (1.0 + std::exp(-static_cast<double>(x))), 1e-6 * std::fabs(x) + 1e-30) << x;
    float gelu = x;
    kernels.gelu_tanh_mul(&gelu, &one, &gelu, 1);
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

// Rows longer than the groups whose factors are worked out together, with what is no number or next to nothing among
// them.
TEST(QuantizeRow, GroupsHaveTheBitsOfTheDefinitionWhateverLiesBesideThem) {
  testing::Random random(44);
  constexpr std::size_t kGroups = 37;
  std::vector<float> x = random.normal(32 * kGroups, 3.0F);
  x[32 * 2 + 5] = NAN;
  x[32 * 9 + 31] = -INFINITY;
  x[32 * 20] = INFINITY;
  std::fill_n(x.begin() + 32 * 11, 32, 0.0F);
  std::fill_n(x.begin() + 32 * 12, 32, 9e-36F);  // too small for a reciprocal
  for (const Isa isa : supported_isas()) {
    std::vector<std::int8_t> codes(x.size());
    std::vector<GroupFactors> factors(kGroups);
    kernel_table(isa).quantize_row(x.data(), x.size(), codes.data(), factors.data());
    for (std::size_t group = 0; group < kGroups; ++group) {
      float amax = 0.0F;
      bool is_finite = true;
      for (std::size_t i = 32 * group; i < 32 * (group + 1); ++i) {
        is_finite = is_finite && std::isfinite(x[i]);
        amax = std::max(amax, std::fabs(x[i]));
      }
      const bool counts = is_finite && amax >= 1e-35F;
      if (is_finite) {
        EXPECT_EQ(factors[group].scale, counts ? amax / 127.0F : 0.0F) << group;
      } else {
        EXPECT_FALSE(std::isfinite(factors[group].scale)) << group;
      }
      for (std::size_t i = 32 * group; i < 32 * (group + 1); ++i) {
        const float code = counts ? std::nearbyint(x[i] * (127.0F / amax)) : 0.0F;
        ASSERT_EQ(codes[i], static_cast<std::int8_t>(code)) << isa_name(isa) << " " << i;
      }
    }
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
