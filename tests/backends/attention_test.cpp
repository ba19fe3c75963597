#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_fixture.h"

namespace vitrine::backends::cpu {
namespace {

using tensor::DType;

constexpr std::size_t kHeads = 6;
constexpr std::size_t kKvHeads = 2;
constexpr std::size_t kHeadDim = 64;

struct Sequence {
  std::vector<float> queries, keys, values;  // [length, heads * kHeadDim]
  std::size_t length;

  Sequence(testing::Random& random, std::size_t num_positions)
      : queries(random.normal(num_positions * kHeads * kHeadDim)),
        keys(random.normal(num_positions * kKvHeads * kHeadDim)),
        values(random.normal(num_positions * kKvHeads * kHeadDim)),
        length(num_positions) {}
};

// Feeds the sequence in chunks; blocks lie in reverse order in the cache.
std::vector<float> attend(CpuBackend& backend, DType type, Sequence sequence, std::size_t chunk, std::size_t window) {
  const std::size_t num_blocks = sequence.length / kvcache::kBlockTokens + 1;
  auto cache = kvcache::KvCache::create({1, kKvHeads, kHeadDim, type}, num_blocks).value_or_throw();
  std::vector<kvcache::BlockId> table;
  for (std::size_t i = num_blocks; i > 0; --i)
    table.push_back(static_cast<kvcache::BlockId>(i - 1));
  std::vector<float> out(sequence.queries.size());
  for (std::size_t start = 0; start < sequence.length; start += chunk) {
    const std::size_t rows = std::min(chunk, sequence.length - start);
    const ops::SequenceRows part{
        .first_row = 0, .num_rows = rows, .first_position = start, .prompt_tokens = 0, .block_table = table};
    const ops::AttentionContext context{&cache, 0, {&part, 1}};
    const auto at = [&](std::vector<float>& v, std::size_t heads) {
      return ops::Rows{v.data() + start * heads * kHeadDim, rows, heads * kHeadDim};
    };
    backend.store_kv(at(sequence.keys, kKvHeads), at(sequence.values, kKvHeads), context);
    backend.attention(at(sequence.queries, kHeads), {.num_heads = kHeads, .scale = 0.125F, .window = window}, context,
                      at(out, kHeads));
  }
  return out;
}

std::vector<double> exact_attention(const Sequence& s, std::size_t window) {
  std::vector<double> out(s.queries.size(), 0.0);
  for (std::size_t row = 0; row < s.length; ++row) {
    for (std::size_t head = 0; head < kHeads; ++head) {
      const std::size_t kv = head / (kHeads / kKvHeads);
      const std::size_t begin = window != 0 && row + 1 > window ? row + 1 - window : 0;
      std::vector<double> weights;
      for (std::size_t p = begin; p <= row; ++p) {
        double dot = 0.0;
        for (std::size_t d = 0; d < kHeadDim; ++d) {
          dot += static_cast<double>(s.queries[(row * kHeads + head) * kHeadDim + d]) *
                 static_cast<double>(s.keys[(p * kKvHeads + kv) * kHeadDim + d]);
        }
        weights.push_back(std::exp(dot * 0.125));
      }
      const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (std::size_t p = begin; p <= row; ++p) {
        for (std::size_t d = 0; d < kHeadDim; ++d) {
          out[(row * kHeads + head) * kHeadDim + d] +=
              weights[p - begin] / sum * static_cast<double>(s.values[(p * kKvHeads + kv) * kHeadDim + d]);
        }
      }
    }
  }
  return out;
}

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
    const std::vector<double> wanted = exact_attention(sequence, window);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], tolerance(GetParam())) << i << " " << window;
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

INSTANTIATE_TEST_SUITE_P(All, AttentionTest, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0),
                         [](const auto& test) { return std::string(tensor::dtype_info(test.param).name); });

}  // namespace
}  // namespace vitrine::backends::cpu
