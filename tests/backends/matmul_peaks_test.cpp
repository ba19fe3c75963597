// The largest result of each row without the others, against the rows themselves.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_fixture.h"

namespace vitrine::backends::cpu {
namespace {

using Peaks = std::vector<std::optional<base::RowPeak>>;

constexpr std::size_t kHidden = 256;

struct Head {
  Head(CpuBackend& on, const tensor::TensorView& weight)
      : backend(on), matrix(on.load_matrix(weight, ops::MatrixUse::kHead)) {}

  std::vector<float> rows(std::vector<float>& x) const {
    const std::size_t num_rows = x.size() / kHidden;
    std::vector<float> out(num_rows * matrix->out_features());
    const std::vector<ops::Role> roles(num_rows, ops::Role::kGenerated);
    const ops::MatmulOutput output{matrix.get(), {out.data(), num_rows, matrix->out_features()}};
    backend.matmul({x.data(), num_rows, kHidden}, roles, {&output, 1});
    return out;
  }
  std::optional<Peaks> peaks(std::vector<float>& x) const {
    const std::size_t num_rows = x.size() / kHidden;
    Peaks peaks(num_rows);
    const std::vector<ops::Role> roles(num_rows, ops::Role::kGenerated);
    if (!backend.matmul_peaks({x.data(), num_rows, kHidden}, roles, *matrix, peaks)) return std::nullopt;
    return peaks;
  }

  CpuBackend& backend;
  std::unique_ptr<ops::Matrix> matrix;
};

std::optional<base::RowPeak> peak_of(std::span<const float> row) {
  base::RowPeak peak{-std::numeric_limits<float>::infinity(), 0};
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i]) || row[i] == std::numeric_limits<float>::infinity()) return std::nullopt;
    if (row[i] > peak.value) peak = {row[i], i};
  }
  return std::isinf(peak.value) ? std::nullopt : std::optional(peak);
}

void expect_peaks_of_rows(const Head& head, std::vector<float> x) {
  const std::vector<float> rows = head.rows(x);
  const auto peaks = head.peaks(x);
  ASSERT_TRUE(peaks);
  const std::size_t width = head.matrix->out_features();
  for (std::size_t row = 0; row < peaks->size(); ++row) {
    const auto wanted = peak_of(std::span(rows).subspan(row * width, width));
    ASSERT_EQ((*peaks)[row].has_value(), wanted.has_value()) << row;
    if (!wanted) continue;
    EXPECT_EQ((*peaks)[row]->value, wanted->value) << row;
    EXPECT_EQ((*peaks)[row]->position, wanted->position) << row;
  }
}

TEST(MatmulPeaks, AreThoseOfTheRowsOnEveryInstructionSet) {
  testing::Random random(31);
  for (const tensor::DType type : {tensor::DType::kQ8_0, tensor::DType::kQ4_1, tensor::DType::kQ6_K,
                                   tensor::DType::kF32, tensor::DType::kF16, tensor::DType::kBF16}) {
    for (const std::size_t width : {1U, 37U, 1000U}) {
      const testing::RandomWeight weight(random, type, width, kHidden);
      for (const Isa isa : testing::all_isas()) {
        for (const std::size_t num_threads : {1U, 3U}) {
          CpuBackend backend({.isa = isa, .num_threads = num_threads, .paths = {}});
          const Head head(backend, weight.view);
          for (const std::size_t num_rows : {1U, 9U, 131U})
            expect_peaks_of_rows(head, random.normal(num_rows * kHidden));
        }
      }
    }
  }
}

TEST(MatmulPeaks, OfEqualsTheFirstCounts) {
  testing::Random random(32);
  testing::RandomWeight weight(random, tensor::DType::kF32, 100, kHidden);
  auto* values = reinterpret_cast<float*>(weight.bytes.data());
  for (const std::size_t twin : {17U, 33U, 98U})  // in other lanes and tiles
    std::copy_n(values + 3 * kHidden, kHidden, values + twin * kHidden);
  CpuBackend backend({.isa = supported_isas().back(), .num_threads = 2, .paths = {}});
  const Head head(backend, weight.view);
  std::vector<float> x(values + 3 * kHidden, values + 4 * kHidden);  // nobody's product is larger than its own
  EXPECT_EQ(head.peaks(x)->front()->position, 3U);
  std::vector<float> zeros(kHidden, 0.0F);
  for (std::size_t i = 0; i < kHidden; i += 2)
    zeros[i] = -0.0F;
  EXPECT_EQ(head.peaks(zeros)->front()->position, 0U) << "both zeros are equal";
}

TEST(MatmulPeaks, AreNoneWhereARowHoldsWhatIsNoNumber) {
  testing::Random random(33);
  testing::RandomWeight weight(random, tensor::DType::kF32, 100, kHidden);
  auto* values = reinterpret_cast<float*>(weight.bytes.data());
  CpuBackend backend({.isa = supported_isas().back(), .num_threads = 2, .paths = {}});
  for (const float fault : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()}) {
    values[57 * kHidden] = fault;
    std::vector<float> x(kHidden, 1.0F);
    EXPECT_FALSE(Head(backend, weight.view).peaks(x)->front());
  }
  std::vector<float> x(kHidden, 0.0F);
  x[0] = 1.0F;
  values[57 * kHidden] = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 1; i < kHidden; ++i)
    values[57 * kHidden + i] = 0.0F;
  expect_peaks_of_rows(Head(backend, weight.view), x);
  for (std::size_t row = 0; row < 100; ++row)
    values[row * kHidden] = -std::numeric_limits<float>::infinity();
  EXPECT_FALSE(Head(backend, weight.view).peaks(x)->front()) << "nothing is finite";
}

TEST(MatmulPeaks, AreRefusedWhereTheScratchIsTaken) {
  testing::Random random(34);
  const testing::RandomWeight weight(random, tensor::DType::kQ8_0, 64, kHidden);
  CpuBackend backend(
      {.isa = supported_isas().back(), .num_threads = 1, .paths = {.generated = NumericPath::kThroughput}});
  std::vector<float> x = random.normal(kHidden);
  EXPECT_FALSE(Head(backend, weight.view).peaks(x));
}

}  // namespace
}  // namespace vitrine::backends::cpu
