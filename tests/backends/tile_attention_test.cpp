// Attention of prompt rows by matrix products, on the throughput path and on that of pairs.
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "backends/attention_fixture.h"

namespace vitrine::backends::cpu {
namespace {

using tensor::DType;

// Queries and keys of 64 channels, weights and values rounded to bf16.
constexpr double kTolerance = 4e-2;
constexpr PathTable kThroughputPaths{NumericPath::kThroughput, NumericPath::kLatency};
constexpr PathTable kPairsPaths{.pairs_attention = true};

// Of a type of the cache on a path.
class TileAttentionTest : public ::testing::TestWithParam<std::tuple<DType, PathTable>> {
 protected:
  static DType type() { return std::get<0>(GetParam()); }
  static CpuBackend prompt_backend(Isa isa, std::size_t num_threads) {
    return CpuBackend({.isa = isa, .num_threads = num_threads, .paths = std::get<1>(GetParam())});
  }
  static std::vector<float> attend_prompt(CpuBackend& backend, const Sequence& sequence, std::size_t chunk,
                                          std::size_t window) {
    return attend(backend, type(), sequence, chunk, window, sequence.length);
  }
};

TEST_P(TileAttentionTest, IsWithinRoundingOfTheExactResult) {
  testing::Random random(51);
  const Sequence sequence(random, 75);
  for (const std::size_t window : {0U, 1U, 16U, 20U}) {
    CpuBackend backend = prompt_backend(supported_isas().back(), 2);
    const std::vector<float> got = attend_prompt(backend, sequence, 75, window);
    for (std::size_t row = 0; row < sequence.length; ++row)
      expect_near_exact(sequence, got, row, window, kTolerance);
  }
}

TEST_P(TileAttentionTest, EveryInstructionSetGivesTheSameBits) {
  testing::Random random(52);
  CpuBackend generic = prompt_backend(Isa::kGeneric, 1);
  for (const std::size_t head_dim : {32U, 48U, 64U, 80U, 96U, 256U}) {
    if (type() == DType::kQ8_0 && head_dim % 32 != 0) continue;
    for (const std::size_t group : {1U, 3U, 8U}) {
      const Sequence sequence(random, 83, group * kKvHeads, head_dim);
      for (const std::size_t window : {0U, 40U}) {
        const std::vector<float> wanted = attend_prompt(generic, sequence, 83, window);
        expect_near_exact(sequence, wanted, 82, window, 2 * kTolerance);
        for (const Isa isa : testing::fast_isas()) {
          CpuBackend fast = prompt_backend(isa, 2);
          EXPECT_EQ(attend_prompt(fast, sequence, 83, window), wanted)
              << isa_name(isa) << ", head_dim " << head_dim << ", group " << group << ", window " << window;
        }
      }
    }
  }
}

TEST_P(TileAttentionTest, ChunksAndThreadsDoNotChangeABit) {
  testing::Random random(53);
  const Sequence sequence(random, kAttentionPart + 70);
  CpuBackend one = prompt_backend(supported_isas().back(), 1);
  CpuBackend three = prompt_backend(supported_isas().back(), 3);
  for (const std::size_t window : {std::size_t{0}, std::size_t{30}, kAttentionPart - 3}) {
    const std::vector<float> whole = attend_prompt(one, sequence, sequence.length, window);
    for (const std::size_t row : {std::size_t{0}, kAttentionPart - 1, kAttentionPart, kAttentionPart + 69})
      expect_near_exact(sequence, whole, row, window, kTolerance);
    for (const std::size_t chunk : {5U, 16U, 100U, 512U})
      EXPECT_EQ(attend_prompt(three, sequence, chunk, window), whole) << chunk << ", window " << window;
  }
}

// What an unwritten slot of the cache holds is nobody's value.
TEST_P(TileAttentionTest, SlotsThatWereNeverWrittenDoNotCount) {
  testing::Random random(54);
  const Sequence sequence(random, 33 + 16);  // the second of two blocks is missing in the end
  CpuBackend backend = prompt_backend(supported_isas().back(), 2);
  for (const std::size_t chunk : {1U, 33U, 49U}) {
    const std::vector<float> got = attend(backend, type(), sequence, chunk, 0, sequence.length, true);
    EXPECT_EQ(got, attend_prompt(backend, sequence, chunk, 0)) << chunk;
  }
}

// The last rows of a step may be generated ones: they take the path that they take alone.
TEST_P(TileAttentionTest, GeneratedRowsOfTheSameStepTakeTheirOwnPath) {
  testing::Random random(55);
  const Sequence sequence(random, 60);
  CpuBackend backend = prompt_backend(supported_isas().back(), 2);
  CpuBackend latency({.isa = supported_isas().back(), .num_threads = 1, .paths = {}});
  const std::vector<float> got = attend(backend, type(), sequence, 60, 0, 50);
  const std::vector<float> as_prompt = attend_prompt(backend, sequence, 60, 0);
  const std::vector<float> as_generated = attend(latency, type(), sequence, 60, 0);
  const auto border = static_cast<std::ptrdiff_t>(50 * sequence.num_heads * sequence.head_dim);
  EXPECT_TRUE(std::equal(got.begin(), got.begin() + border, as_prompt.begin()));
  EXPECT_TRUE(std::equal(got.begin() + border, got.end(), as_generated.begin() + border));
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<DType, PathTable>>& test) {
  const auto& [type, paths] = test.param;
  return std::string(tensor::dtype_info(type).name) + (paths.pairs_attention ? "_pairs" : "_throughput");
}

INSTANTIATE_TEST_SUITE_P(All, TileAttentionTest,
                         ::testing::Combine(::testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0),
                                            ::testing::Values(kThroughputPaths, kPairsPaths)),
                         name_of);

}  // namespace
}  // namespace vitrine::backends::cpu
