#include "backends/cpu/pack.h"

#include <bit>

#include <gtest/gtest.h>

#include "backends/cpu/packed_matrix.h"
#include "backends/cpu/split_pack.h"
#include "backends/kernel_fixture.h"
#include "base/sha256.h"

namespace vitrine::backends::cpu {
namespace {

class PackTest : public ::testing::TestWithParam<PackedLayout> {};

std::vector<std::uint8_t> pack_first_tile(const PackedLayout& layout, const tensor::TensorView& view) {
  std::vector<std::uint8_t> tile(view.shape[1] / layout.block_k * layout.block_bytes());
  pack_tile(layout, view, 0, tile.data());
  return tile;
}

TEST_P(PackTest, UnpackingGivesTheReferenceDecodeBitForBit) {
  testing::Random random(11);
  const std::size_t k = 2 * 256;
  const testing::RandomWeight weight(random, GetParam().type, 16, k);
  std::vector<float> values(16 * k);
  unpack_tile(GetParam(), pack_first_tile(GetParam(), weight.view).data(), k, values.data());
  for (std::size_t row = 0; row < 16; ++row) {
    const std::vector<float> wanted = weight.decoded_row(row);
    for (std::size_t i = 0; i < k; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i * 16 + row]), std::bit_cast<std::uint32_t>(wanted[i]))
          << "row " << row << " input " << i;
    }
  }
}

TEST_P(PackTest, TheKernelsUnpackAsTheScalarCodeDoes) {
  testing::Random random(12);
  const std::size_t k = 256;
  const testing::RandomWeight weight(random, GetParam().type, 16, k);
  const std::vector<std::uint8_t> tile = pack_first_tile(GetParam(), weight.view);
  std::vector<float> wanted(16 * k);
  unpack_tile(GetParam(), tile.data(), k, wanted.data());
  for (const Isa isa : supported_isas()) {
    std::vector<float> values(16 * k);
    kernel_table(isa).unpack_tile[static_cast<std::size_t>(GetParam().kind)](tile.data(), k, values.data());
    EXPECT_EQ(values, wanted) << isa_name(isa);
  }
}

TEST_P(PackTest, RowsPastTheEndAreZero) {
  testing::Random random(13);
  const testing::RandomWeight weight(random, GetParam().type, 5, 256);
  std::vector<float> values(16 * 256);
  unpack_tile(GetParam(), pack_first_tile(GetParam(), weight.view).data(), 256, values.data());
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t row = 5; row < 16; ++row)
      EXPECT_EQ(values[i * 16 + row], 0.0F);
  }
}

// Files of packed weights outlive a build: where this fails because the layout was meant to change,
// kPackedLayoutVersion goes up, and the sum with it.
TEST(PackedLayouts, AreThoseOfTheirVersion) {
  base::Sha256 sum;
  for (const PackedLayout& layout : packed_layouts()) {
    testing::Random random(14);
    const testing::RandomWeight weight(random, layout.type, 16, 2 * 256);
    const std::vector<std::uint8_t> tile = pack_first_tile(layout, weight.view);
    sum.update(std::as_bytes(std::span(tile)));
  }
  testing::Random random(14);
  const testing::RandomWeight weight(random, tensor::DType::kQ8_0, 40, 2 * 256);
  std::vector<std::uint8_t> head(PackedMatrix::packed_bytes(PackedKind::kSplitQ8_0, tensor::DType::kQ8_0, 40, 2 * 256));
  for (std::size_t tile_idx = 0; tile_idx < 3; ++tile_idx)
    pack_split_tile(weight.view, tile_idx, head.data());
  sum.update(std::as_bytes(std::span(head)));
  EXPECT_EQ(base::hex_of(sum.finish()), "9e31ed427d296a49a53e0c94182da60ba409d8e3c5be12fc8d7f75005a7a71b5");
  EXPECT_EQ(kPackedLayoutVersion, 2U);
}

INSTANTIATE_TEST_SUITE_P(All, PackTest, ::testing::ValuesIn(packed_layouts().begin(), packed_layouts().end()),
                         [](const auto& test) { return std::string(tensor::dtype_info(test.param.type).name); });

}  // namespace
}  // namespace vitrine::backends::cpu
