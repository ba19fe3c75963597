// The passes over rows on every instruction set, against the same steps one logit at a time.
#include "sampling/kernels/row_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/order_key.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Lengths about the borders of vectors, blocks and chunks.
constexpr std::array<std::size_t, 14> kLengths = {1, 2, 15, 16, 17, 63, 64, 65, 127, 200, 1000, 1008, 1023, 1024};

std::vector<float> random_row(std::size_t length, std::mt19937& random) {
  std::normal_distribution<float> distribution(0.0F, 12.0F);
  std::vector<float> row(length);
  for (float& logit : row) {
    switch (random() % 20) {
      case 0:
        logit = -kInf;
        break;
      case 1:
        logit = random() % 2 == 0 ? -0.0F : 0.0F;
        break;
      case 2:
        logit = 1e-41F;  // denormal
        break;
      case 3:
        logit = -std::numeric_limits<float>::max();
        break;
      default:
        logit = distribution(random);
    }
  }
  return row;
}

float peak_of(const std::vector<float>& row) {
  return std::max(0.0F, *std::ranges::max_element(row));
}

class RowKernelsTest : public ::testing::TestWithParam<const RowKernels*> {
 protected:
  const RowKernels& kernels() const { return *GetParam(); }
  // Calls check(row) for rows of many lengths.
  template <typename Check>
  static void for_each_row(Check check) {
    std::mt19937 random(1);
    for (const std::size_t length : kLengths) {
      for (int i = 0; i < 50; ++i)
        check(random_row(length, random));
    }
  }
};

TEST_P(RowKernelsTest, SumsOfExponentialsHaveTheBitsOfOneAtATime) {
  for_each_row([&](const std::vector<float>& row) {
    const float peak = peak_of(row);
    std::array<double, 16> sums{};
    for (std::size_t i = 0; i < row.size(); ++i)
      sums[i % sums.size()] += static_cast<double>(exp_nonpositive(row[i] - peak));
    double total = 0.0;
    for (const double sum : sums)
      total += sum;
    const double got = kernels().sum_exp(row.data(), row.size(), peak);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(total)) << row.size();
  });
}

TEST_P(RowKernelsTest, ExponentialsHaveTheBitsOfTheScalarOverAllMagnitudes) {
  for (std::uint32_t bits = 0x80000000U; bits <= 0xFF800000U; bits += 9973) {
    const auto x = std::bit_cast<float>(bits);
    ASSERT_EQ(kernels().sum_exp(&x, 1, 0.0F), static_cast<double>(exp_nonpositive(x))) << x;
  }
}

TEST_P(RowKernelsTest, KeyRangesTakeInEveryLogit) {
  for_each_row([&](std::vector<float> row) {
    row[row.size() / 2] = row.size() % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : kInf;
    std::int32_t min = base::order_key(row[0]);
    std::int32_t max = min;
    for (const float logit : row) {
      min = std::min(min, base::order_key(logit));
      max = std::max(max, base::order_key(logit));
    }
    const KeyRange range = kernels().key_range(row.data(), row.size());
    ASSERT_EQ(range.min, min) << row.size();
    ASSERT_EQ(range.max, max) << row.size();
  });
}

TEST_P(RowKernelsTest, BlocksAreFoundByAnyLogitThatReachesTheBound) {
  for_each_row([&](const std::vector<float>& row) {
    for (const float lowest : {-kInf, -20.0F, 0.0F, 15.0F, 40.0F, kInf}) {
      for (std::size_t begin = 0; begin < row.size(); begin += kScanBlock) {
        std::size_t wanted = row.size();
        for (std::size_t i = row.size(); i > begin; --i) {
          if (row[i - 1] >= lowest) wanted = (i - 1) / kScanBlock * kScanBlock;
        }
        ASSERT_EQ(kernels().find_block(row.data(), row.size(), begin, lowest), wanted) << row.size() << " " << lowest;
      }
    }
  });
}

TEST_P(RowKernelsTest, QuotientsHaveTheBitsOfOneAtATime) {
  for_each_row([&](const std::vector<float>& row) {
    for (const auto& [shift, divisor] : {std::pair(0.0F, 0.7F), std::pair(3.5F, 1e-3F), std::pair(0.0F, 1.9F)}) {
      std::vector<float> wanted = row;
      for (float& logit : wanted)
        logit = (logit - shift) / divisor;
      std::vector<float> got = row;
      kernels().shift_and_divide(got.data(), got.size(), shift, divisor);
      ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0) << row.size();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, RowKernelsTest,
                         ::testing::ValuesIn(supported_row_kernels().begin(), supported_row_kernels().end()),
                         [](const auto& kernels) { return std::string(kernels.param->name); });

}  // namespace
}  // namespace vitrine::sampling
