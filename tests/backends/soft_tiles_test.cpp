// The code around the tile unit on a processor that has none.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/attention_fixture.h"
#include "backends/soft_tile_unit.h"

namespace vitrine::backends::cpu {
namespace {

using tensor::DType;

constexpr PathTable kPromptsOnTiles{NumericPath::kThroughput, NumericPath::kLatency};

class SoftTilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx512bf16") || !choose_isa("avx512")) {
      testing::count_skipped("kernels on tiles in memory", 1, "this machine lacks AVX512-BF16");
      GTEST_SKIP() << "this machine lacks AVX512-BF16";
    }
    table_ = kernel_table(Isa::kAvx512);
    table_.tile_unit = &soft_tile_unit();
  }

  CpuBackend on_tiles(std::size_t num_threads) const {
    return CpuBackend({.isa = Isa::kAvx512, .num_threads = num_threads, .paths = kPromptsOnTiles, .kernels = &table_});
  }
  static CpuBackend generic() { return CpuBackend({.isa = Isa::kGeneric, .num_threads = 1, .paths = kPromptsOnTiles}); }

  static std::vector<float> product(CpuBackend& backend, const tensor::TensorView& weight, std::vector<float>& x) {
    const std::size_t k = weight.shape[1];
    const std::size_t num_rows = x.size() / k;
    const auto matrix = backend.load_matrix(weight, ops::MatrixUse::kLayer);
    std::vector<float> out(num_rows * weight.shape[0]);
    const ops::MatmulOutput output{matrix.get(), {out.data(), num_rows, weight.shape[0]}};
    const std::vector<ops::Role> roles(num_rows, ops::Role::kPrompt);
    backend.matmul({x.data(), num_rows, k}, roles, {&output, 1});
    return out;
  }

 private:
  KernelTable table_;
};

TEST_F(SoftTilesTest, MatricesGiveTheBitsOfTheDefinition) {
  testing::Random random(61);
  CpuBackend wanted = generic();
  CpuBackend got = on_tiles(2);
  for (const DType type : {DType::kF32, DType::kF16, DType::kQ4_1, DType::kQ5_0, DType::kQ8_0}) {
    for (const std::size_t num_outputs : {5U, 16U, 40U, 48U}) {
      const testing::RandomWeight weight(random, type, num_outputs, 352);
      for (const std::size_t num_rows : {1U, 16U, 17U, 47U, 530U}) {
        std::vector<float> x = random.normal(num_rows * 352);
        EXPECT_EQ(product(got, weight.view, x), product(wanted, weight.view, x))
            << tensor::dtype_info(type).name << ", " << num_outputs << " outputs, " << num_rows << " rows";
      }
    }
  }
}

TEST_F(SoftTilesTest, AttentionGivesTheBitsOfTheDefinition) {
  testing::Random random(62);
  CpuBackend wanted = generic();
  CpuBackend got = on_tiles(2);
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    for (const std::size_t head_dim : {32U, 48U, 64U, 256U}) {
      if (type == DType::kQ8_0 && head_dim % 32 != 0) continue;
      for (const std::size_t group : {1U, 3U, 8U}) {
        const Sequence sequence(random, 83, group * kKvHeads, head_dim);
        for (const std::size_t window : {0U, 40U}) {
          EXPECT_EQ(attend(got, type, sequence, 50, window, 83, true), attend(wanted, type, sequence, 83, window, 83))
              << tensor::dtype_info(type).name << ", head_dim " << head_dim << ", group " << group;
        }
      }
    }
  }
}

TEST_F(SoftTilesTest, AttentionAcrossPartsDoesNotDependOnChunksAndThreads) {
  testing::Random random(63);
  const Sequence sequence(random, kAttentionPart + 40, 4, 32);
  CpuBackend wanted = generic();
  CpuBackend got = on_tiles(3);
  const std::vector<float> whole = attend(wanted, DType::kF16, sequence, sequence.length, 0, sequence.length);
  for (const std::size_t chunk : {33U, 512U})
    EXPECT_EQ(attend(got, DType::kF16, sequence, chunk, 0, sequence.length), whole) << chunk;
}

}  // namespace
}  // namespace vitrine::backends::cpu
