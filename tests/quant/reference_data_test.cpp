#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "base/float16.h"
#include "quant_data.h"

// The formats against tests/data/quant: values decoded, bytes written and errors made by the field's reference tools.
namespace vitrine::quant {
namespace {

constexpr std::size_t kRowElements = 1024;
constexpr std::size_t kNumRows = 6;

const nlohmann::json& index() {
  static const nlohmann::json json = testing::read_json(testing::data_path("quant/index.json"));
  return json;
}

std::vector<float> input_rows() {
  return load_array<float>(index().at("input"));
}

void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(actual[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << "element " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

void expect_decodes(const std::string& name, const nlohmann::json& entry) {
  SCOPED_TRACE(name);
  expect_same_bits(decode(format_named(name), load_array<std::byte>(entry.at("bytes"))),
                   load_array<float>(entry.at("values")));
  testing::count_cases("quant", 1);
}

TEST(QuantReference, DecodesWhatQuantisersWriteBitForBit) {
  for (const auto& [name, entry] : index().at("types").items())
    expect_decodes(name, entry);
  expect_decodes("IQ4_NL", index().at("iq4_nl_with_search"));
}

TEST(QuantReference, DecodesRandomBytesBitForBit) {
  for (const auto& [name, entry] : index().at("random").items())
    expect_decodes(name, entry);
}

TEST(QuantReference, DecodesEveryCodebookEntryBitForBit) {
  for (const auto& [name, entry] : index().at("sweep").items())
    expect_decodes(name, entry);
}

// Blocks whose codes the reference leaves undefined because the inverse of the scale overflows.
std::set<std::size_t> undefined_blocks(const nlohmann::json& entry, std::size_t blocks_per_row) {
  std::set<std::size_t> blocks;
  for (const auto& place : entry.value("blocks_with_undefined_codes", nlohmann::json::array())) {
    blocks.insert(place.at(0).get<std::size_t>() * blocks_per_row + place.at(1).get<std::size_t>());
  }
  return blocks;
}

bool starts_with_zero_scale(const std::byte* block) {
  return block[0] == std::byte{0} && (block[1] == std::byte{0} || block[1] == std::byte{0x80});
}

// Equal bytes, but a zero scale of the formats that divide by a negative number may have either sign.
bool same_block(const std::byte* actual, const std::byte* expected, const tensor::DTypeInfo& info) {
  const bool either_zero = info.type == tensor::DType::kQ4_0 || info.type == tensor::DType::kQ5_0;
  const bool zeros = either_zero && starts_with_zero_scale(actual) && starts_with_zero_scale(expected);
  const std::size_t skipped = zeros ? 2 : 0;
  return std::memcmp(actual + skipped, expected + skipped, info.block_bytes - skipped) == 0;
}

void expect_same_bytes(const std::string& name, const nlohmann::json& entry) {
  SCOPED_TRACE(name);
  const QuantFormat& format = format_named(name);
  const tensor::DTypeInfo& info = tensor::dtype_info(format.type);
  const std::vector<std::byte> actual = encode(format, input_rows());
  const auto expected = load_array<std::byte>(entry.at("bytes"));
  ASSERT_EQ(actual.size(), expected.size());
  const auto undefined = undefined_blocks(entry, kRowElements / info.block_elements);
  const std::vector<float> values = decode(format, actual);
  for (std::size_t block = 0; block < actual.size() / info.block_bytes; ++block) {
    if (undefined.contains(block)) {
      for (std::size_t i = 0; i < info.block_elements; ++i) {
        EXPECT_LT(std::abs(values[block * info.block_elements + i]), 1e-38F) << "block " << block;
      }
    } else {
      const std::size_t offset = block * info.block_bytes;
      EXPECT_TRUE(same_block(actual.data() + offset, expected.data() + offset, info)) << "block " << block;
    }
  }
  testing::count_cases("quant", 1);
}

TEST(QuantReference, EncodesToTheBytesOfTheReference) {
  for (const auto& [name, entry] : index().at("types").items()) {
    if (entry.at("must_match_bytes")) expect_same_bytes(name, entry);
  }
}

void expect_error_at_most(const std::string& name, const nlohmann::json& entry) {
  SCOPED_TRACE(name);
  // Twice the resolution of the sums of 1024 squares behind both numbers.
  constexpr double kRounding = 1.0 + 1e-9;
  const std::vector<float> input = input_rows();
  const QuantFormat& format = format_named(name);
  const std::vector<float> values = decode(format, encode(format, input));
  for (std::size_t row = 0; row < kNumRows; ++row) {
    const double error = rmse(values, input, row * kRowElements, kRowElements);
    EXPECT_LE(error, entry.at("rmse_per_row").at(row).get<double>() * kRounding) << "row " << row;
  }
  testing::count_cases("quant", 1);
}

TEST(QuantReference, EncodesWithNoMoreErrorThanTheReferencePerRow) {
  for (const auto& [name, entry] : index().at("types").items()) {
    if (!entry.at("must_match_bytes")) expect_error_at_most(name, entry);
  }
  expect_error_at_most("IQ4_NL", index().at("iq4_nl_with_search"));
}

template <class Half>
void expect_rounds(const std::string& name) {
  SCOPED_TRACE(name);
  const nlohmann::json& edges = index().at("half_edges");
  const auto expected = load_array<std::uint16_t>(edges.at(name));
  const std::vector<std::byte> bytes = encode(format_named(name), load_array<float>(edges.at("input")));
  const auto nan_positions = edges.at("nan_positions").get<std::set<std::size_t>>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Half half;
    std::memcpy(&half, bytes.data() + i * sizeof(half), sizeof(half));
    if (nan_positions.contains(i)) {
      EXPECT_TRUE(std::isnan(base::to_float(half))) << "element " << i;
    } else {
      EXPECT_EQ(half.bits, expected[i]) << "element " << i;
    }
  }
  testing::count_cases("quant", 1);
}

TEST(QuantReference, RoundsHalfPrecisionEdgesToNearestEven) {
  expect_rounds<base::Float16>("f16");
  expect_rounds<base::BFloat16>("bf16");
}

}  // namespace
}  // namespace vitrine::quant
