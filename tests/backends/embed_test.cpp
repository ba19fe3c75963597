#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_fixture.h"

namespace vitrine::backends::cpu {
namespace {

constexpr std::size_t kTokens = 37;  // the last tile is not full
constexpr std::size_t kWidth = 512;

// Every row twice, from the file's memory and from the packed matrix.
void expect_same_rows(CpuBackend& backend, const tensor::TensorView& table, float scale) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < 2 * kTokens; ++i)
    ids.push_back(static_cast<TokenId>(i * 5 % kTokens));
  std::vector<float> from_file(ids.size() * kWidth);
  std::vector<float> from_matrix(ids.size() * kWidth, -1.0F);
  const auto matrix = backend.load_matrix(table, ops::MatrixUse::kHead);
  backend.embed(table, ids, scale, {from_file.data(), ids.size(), kWidth});
  backend.embed(*matrix, ids, scale, {from_matrix.data(), ids.size(), kWidth});
  EXPECT_EQ(from_file, from_matrix);
}

TEST(Embed, ARowOfAPackedMatrixHasTheBitsOfItsFile) {
  testing::Random random(5);
  for (const quant::QuantFormat& format : quant::quant_formats()) {
    if (format.encode == nullptr || format.type == tensor::DType::kF64) continue;
    const testing::RandomWeight table(random, format.type, kTokens, kWidth);
    for (const Isa isa : supported_isas()) {
      for (const PathTable& paths : {PathTable::for_isa(isa), PathTable::reference()}) {
        CpuBackend backend({.isa = isa, .num_threads = 2, .paths = paths});
        SCOPED_TRACE(tensor::dtype_info(format.type).name);
        expect_same_rows(backend, table.view, 1.0F);
        expect_same_rows(backend, table.view, 22.6F);
      }
    }
  }
}

}  // namespace
}  // namespace vitrine::backends::cpu
