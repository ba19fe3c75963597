#include <vector>

#include <gtest/gtest.h>

#include "backends/attention_fixture.h"

namespace vitrine::backends::cpu {
namespace {

using tensor::DType;

double tolerance(DType type) {
  switch (type) {
    case DType::kF32:
      return 2e-5;
    case DType::kF16:
      return 4e-3;
    case DType::kBF16:
      return 3e-2;
    default:
      return 5e-2;
  }
}

class AttentionTest : public ::testing::TestWithParam<DType> {};

TEST_P(AttentionTest, IsWithinTheCachesRoundingOfTheExactResult) {
  testing::Random random(31);
  const Sequence sequence(random, 75);
  for (const std::size_t window : {0U, 1U, 16U, 20U}) {
    CpuBackend backend({.isa = supported_isas().back(), .num_threads = 2, .paths = {}});
    const std::vector<float> got = attend(backend, GetParam(), sequence, 75, window);
    for (std::size_t row = 0; row < sequence.length; ++row)
      expect_near_exact(sequence, got, row, window, tolerance(GetParam()));
  }
}

TEST_P(AttentionTest, EveryInstructionSetGivesTheSameBits) {
  testing::Random random(32);
  const Sequence sequence(random, 50);
  CpuBackend generic({.isa = Isa::kGeneric, .num_threads = 1, .paths = {}});
  for (const Isa isa : testing::fast_isas()) {
    CpuBackend fast({.isa = isa, .num_threads = 1, .paths = {}});
    for (const std::size_t window : {0U, 20U}) {
      EXPECT_EQ(attend(fast, GetParam(), sequence, 50, window), attend(generic, GetParam(), sequence, 50, window))
          << isa_name(isa);
    }
  }
}

TEST_P(AttentionTest, ChunksAndThreadsDoNotChangeABit) {
  testing::Random random(33);
  const Sequence sequence(random, 70);
  CpuBackend one({.isa = supported_isas().back(), .num_threads = 1, .paths = {}});
  CpuBackend two({.isa = supported_isas().back(), .num_threads = 2, .paths = {}});
  const std::vector<float> whole = attend(one, GetParam(), sequence, 70, 0);
  for (const std::size_t chunk : {1U, 7U, 16U, 64U})
    EXPECT_EQ(attend(two, GetParam(), sequence, chunk, 0), whole) << chunk;
}

// What an unwritten slot of the cache holds is nobody's value.
TEST_P(AttentionTest, SlotsThatWereNeverWrittenDoNotCount) {
  testing::Random random(38);
  const Sequence sequence(random, 49);
  for (const Isa isa : supported_isas()) {
    CpuBackend backend({.isa = isa, .num_threads = 2, .paths = {}});
    for (const std::size_t chunk : {1U, 33U, 49U})
      EXPECT_EQ(attend(backend, GetParam(), sequence, chunk, 0, 0, true),
                attend(backend, GetParam(), sequence, chunk, 0));
  }
}

// Rows around the borders of the parts into which a sequence's sums are cut.
TEST_P(AttentionTest, LongSequencesAreExactAcrossParts) {
  testing::Random random(34);
  const Sequence sequence(random, 2 * kAttentionPart + 40);
  CpuBackend backend({.isa = supported_isas().back(), .num_threads = 2, .paths = {}});
  for (const std::size_t window : {std::size_t{0}, std::size_t{30}, kAttentionPart + 100}) {
    const std::vector<float> got = attend(backend, GetParam(), sequence, 200, window);
    for (const std::size_t part : {kAttentionPart, 2 * kAttentionPart}) {
      for (const std::size_t row : {part - 2, part - 1, part, part + 1, part + 17, part + 39})
        expect_near_exact(sequence, got, row, window, tolerance(GetParam()));
    }
  }
}

// A step of one row is split over threads by parts, one of many rows by rows.
TEST_P(AttentionTest, PartsTilesAndThreadsDoNotChangeABit) {
  testing::Random random(35);
  const Sequence sequence(random, 2 * kAttentionPart + 10);
  CpuBackend generic({.isa = Isa::kGeneric, .num_threads = 1, .paths = {}});
  for (const std::size_t window : {std::size_t{0}, kAttentionPart - 3}) {
    const std::vector<float> whole = attend(generic, GetParam(), sequence, sequence.length, window);
    for (const Isa isa : testing::fast_isas()) {
      for (const std::size_t num_threads : {1U, 3U}) {
        CpuBackend backend({.isa = isa, .num_threads = num_threads, .paths = {}});
        for (const std::size_t chunk : {std::size_t{1}, std::size_t{5}, sequence.length})
          EXPECT_EQ(attend(backend, GetParam(), sequence, chunk, window), whole)
              << isa_name(isa) << ", chunk " << chunk << ", threads " << num_threads << ", window " << window;
      }
    }
  }
}

TEST_P(AttentionTest, EveryNumberOfQueryHeadsGivesTheSameBitsAndTheExactResult) {
  testing::Random random(36);
  CpuBackend generic({.isa = Isa::kGeneric, .num_threads = 1, .paths = {}});
  for (const std::size_t group : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    const Sequence sequence(random, 37, group * kKvHeads);
    const std::vector<float> wanted = attend(generic, GetParam(), sequence, 37, 0);
    expect_near_exact(sequence, wanted, 36, 0, tolerance(GetParam()));
    for (const Isa isa : testing::fast_isas()) {
      CpuBackend backend({.isa = isa, .num_threads = 2, .paths = {}});
      for (const std::size_t chunk : {1U, 4U, 37U})
        EXPECT_EQ(attend(backend, GetParam(), sequence, chunk, 0), wanted) << isa_name(isa) << ", group " << group;
    }
  }
}

TEST_P(AttentionTest, EveryHeadSizeGivesTheSameBitsAndTheExactResult) {
  testing::Random random(37);
  CpuBackend generic({.isa = Isa::kGeneric, .num_threads = 1, .paths = {}});
  for (const std::size_t head_dim : {32U, 48U, 80U, 96U, 128U, 160U, 256U}) {
    if (GetParam() == DType::kQ8_0 && head_dim % 32 != 0) continue;
    for (const std::size_t group : {1U, 3U, 8U, 14U}) {
      const Sequence sequence(random, 150, group * kKvHeads, head_dim);
      const std::vector<float> wanted = attend(generic, GetParam(), sequence, 150, 40);
      expect_near_exact(sequence, wanted, 149, 40, 2 * tolerance(GetParam()));
      for (const Isa isa : testing::fast_isas()) {
        CpuBackend backend({.isa = isa, .num_threads = 2, .paths = {}});
        for (const std::size_t chunk : {7U, 150U})
          EXPECT_EQ(attend(backend, GetParam(), sequence, chunk, 40), wanted)
              << isa_name(isa) << ", head_dim " << head_dim << ", group " << group;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionTest, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0),
                         [](const auto& test) { return std::string(tensor::dtype_info(test.param).name); });

}  // namespace
}  // namespace vitrine::backends::cpu
