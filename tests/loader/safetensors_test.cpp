#include "loader/safetensors.h"

#include <fmt/format.h>

#include <chrono>
#include <random>

#include "loader/expect_error.h"
#include "loader/safetensors_builder.h"
#include "support/random_seed.h"
#include "support/reference_data.h"

namespace vitrine::loader {
namespace {

using base::ErrorKind::kBadFile;

base::Result<SafetensorsHeader> parse(const std::string& file) {
  return catch_result([&] { return parse_safetensors(as_bytes(file)); });
}

base::Result<SafetensorsHeader> parse(std::string_view header, std::size_t data_bytes) {
  const std::string file = safetensors_file(header, data_bytes);
  return parse(file);
}

// "NAME":{...} with the fields in the usual order.
std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, std::uint64_t begin,
                  std::uint64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype, shape, begin, end);
}

std::string object(std::initializer_list<std::string> entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

TEST(Safetensors, ReadsTensorsInHeaderOrder) {
  auto header = parse(object({entry("b", "F32", "[2,2]", 8, 24), entry("a", "BF16", "[4]", 0, 8)}), 24);
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->tensors[0].name, "b");
  EXPECT_EQ(header->tensors[0].view.shape, (tensor::Shape{2, 2}));
  EXPECT_EQ(header->tensors[0].view.data - header->tensors[1].view.data, 8);
}

TEST(Safetensors, ReadsEveryNumberType) {
  for (const auto& [name, size] : std::map<std::string, std::size_t>{
           {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1}, {"U8", 1}}) {
    auto header = parse(object({entry("t", name, "[3]", 0, 3 * size)}), 3 * size);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->tensors[0].view.size_bytes(), 3 * size);
  }
}

TEST(Safetensors, AcceptsAScalarAndFileMetadataAndPadding) {
  const std::string header =
      R"({"__metadata__":{"format":"pt","a":"\u00e9"},)" + entry("t", "F32", "[]", 0, 4) + "}   ";
  auto parsed = parse(header, 4);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->tensors[0].view.shape.rank(), 0U);
}

TEST(Safetensors, AcceptsFieldsInAnyOrderAndSpace) {
  EXPECT_TRUE(parse(R"({ "t" : { "data_offsets" : [ 0 , 4 ] , "shape" : [ 1 ] , "dtype" : "F32" } })", 4));
}

TEST(Safetensors, AcceptsDataThatIsNotAligned) {
  EXPECT_TRUE(parse(object({entry("odd", "F32", "[1]", 0, 4)}) + " ", 4));
  EXPECT_TRUE(parse(object({entry("a", "I8", "[1]", 0, 1), entry("b", "F32", "[1]", 1, 5)}), 5));
}

TEST(Safetensors, UnescapesNames) {
  auto header = parse(R"({"\u0061\n\"\ud83d\ude00":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->tensors[0].name, "a\n\"\xF0\x9F\x98\x80");
}

TEST(Safetensors, LeavesOutMasksAndEmptyTensorsAndSaysSo) {
  auto header = parse(
      object({entry("mask", "BOOL", "[2]", 0, 2), entry("empty", "F32", "[0,4]", 2, 2), entry("w", "I8", "[2]", 2, 4)}),
      4);
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 1U);
  EXPECT_EQ(header->tensors[0].name, "w");
  EXPECT_EQ(header->num_skipped, 2U);
  EXPECT_EQ(header->first_skipped, "mask");
}

TEST(Safetensors, AcceptsAFileWithoutTensors) {
  EXPECT_TRUE(parse("{}", 0));
}

// Fault row 8: the header lies.
TEST(SafetensorsFaults, Row8HeaderSizeIsBounded) {
  const std::string huge = std::string("\0\0\0\0\0\0\0\x80", 8) + "{}";
  expect_error(parse(huge), kBadFile, "at most 100000000");
  std::string longer = safetensors_file("{}", 0);
  longer[0] = 100;
  expect_error(parse(longer), kBadFile, "cut short");
  expect_error(parse(std::string("\x08\0\0", 3)), kBadFile, "shorter than 8 bytes");
}

TEST(SafetensorsFaults, Row8DuplicateNameIsRefused) {
  expect_error(parse(object({entry("x", "U8", "[4]", 0, 4), entry("x", "F32", "[1]", 0, 4)}), 4), kBadFile,
               "\"x\" occurs more than once");
  expect_error(parse(object({entry("x", "U8", "[4]", 0, 4), entry("\\u0078", "U8", "[4]", 4, 8)}), 8), kBadFile,
               "\"x\" occurs more than once");
  expect_error(parse(object({entry("x", "U8", "[0]", 0, 0), entry("x", "U8", "[4]", 0, 4)}), 4), kBadFile,
               "more than once");
}

TEST(SafetensorsFaults, Row8OverlapAndHoleAreRefused) {
  expect_error(parse(object({entry("a", "U8", "[4]", 0, 4), entry("b", "U8", "[4]", 2, 6)}), 6), kBadFile,
               "begins at byte 2");
  expect_error(parse(object({entry("a", "U8", "[4]", 0, 4), entry("b", "U8", "[4]", 5, 9)}), 9), kBadFile,
               "begins at byte 5");
  expect_error(parse(object({entry("a", "U8", "[4]", 1, 5)}), 5), kBadFile, "begins at byte 1");
  expect_error(parse(object({entry("a", "U8", "[4]", 0, 4)}), 5), kBadFile, "5 bytes of data");
  expect_error(parse(object({entry("a", "U8", "[4]", 0, 4)}), 3), kBadFile, "cut short");
}

TEST(SafetensorsFaults, Row8ShapeThatDisagreesWithItsRangeIsRefused) {
  expect_error(parse(object({entry("a", "F32", "[2]", 0, 4)}), 4), kBadFile, "does not take the bytes 0 to 4");
  expect_error(parse(object({entry("a", "F32", "[1]", 4, 0)}), 4), kBadFile, "does not take");
  expect_error(parse(object({entry("a", "F32", "[4294967296,4294967296]", 0, 0)}), 0), kBadFile, "does not take");
  expect_error(parse(object({entry("a", "F64", "[2305843009213693953]", 0, 8)}), 8), kBadFile, "does not take");
  expect_error(parse(object({entry("a", "I8", "[1,1,1,1,1]", 0, 1)}), 1), kBadFile, "more than 4 dimensions");
}

TEST(SafetensorsFaults, Row8PaddingWithNulIsRefused) {
  expect_error(parse(std::string("{}\0\0", 4), 0), kBadFile, "goes on after its last brace");
}

std::string file_of_bytes(std::uint64_t num_tensors) {
  std::string header = "{";
  for (std::uint64_t i = 0; i < num_tensors; ++i) {
    if (i != 0) header += ",";
    header += entry("model.layers." + std::to_string(i), "I8", "[1]", i, i + 1);
  }
  return safetensors_file(header + "}", num_tensors);
}

TEST(SafetensorsFaults, Row8HundredThousandEntriesParseInUnderASecond) {
  const std::string file = file_of_bytes(100'000);
  const auto begin = std::chrono::steady_clock::now();
  const auto parsed = parse(file);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->tensors.size(), 100'000U);
}

TEST(SafetensorsFaults, Row8NumberOfTensorsIsBounded) {
  expect_error(parse(file_of_bytes(250'001)), kBadFile, "more than 250000 tensors");
}

TEST(SafetensorsFaults, UnknownTypesAreRefusedByName) {
  expect_error(parse(object({entry("a", "F8_E4M3", "[1]", 0, 1)}), 1), kBadFile, "dtype \"F8_E4M3\" is not supported");
}

TEST(SafetensorsFaults, BrokenHeadersAreRefused) {
  for (const std::string_view header : {
           "",
           "[]",
           " {}",
           "{",
           "{}{}",
           "{\"a\"}",
           "{\"a\":}",
           "{\"a\":{}}",
           "{\"a\":{\"dtype\":\"I8\"}}",
           "{\"\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
           "{\"a\\u0000\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
           "{\"\\ud800\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
           "{\"\\udc00\\ud800\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
           "{\"\\u00g0\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
           "{\"a\n\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
           "{\"\xff\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[01],\"data_offsets\":[0,1]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[-1],\"data_offsets\":[0,1]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[1e0],\"data_offsets\":[0,1]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[18446744073709551617],\"data_offsets\":[0,1]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[1,],\"data_offsets\":[0,1]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1],\"dtype\":\"I8\"}}",
           "{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}",
           "{\"__metadata__\":{\"a\":1}}",
           "{\"__metadata__\":{},\"__metadata__\":{}}",
       }) {
    const auto parsed = parse(header, 1);
    ASSERT_FALSE(parsed) << header;
    EXPECT_EQ(parsed.error().kind, kBadFile);
  }
}

TEST(SafetensorsFaults, DeepNestingDoesNotRecurse) {
  expect_error(parse(R"({"a":)" + std::string(1'000'000, '['), 0), kBadFile, "expected '{'");
}

TEST(SafetensorsTruncation, EveryPrefixIsRefused) {
  const std::string whole =
      safetensors_file(object({entry("a", "F32", "[2]", 0, 8), entry("b", "F16", "[2]", 8, 12)}), 12);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size))) << size;
  testing::count_cases("safetensors_truncations", whole.size());
}

TEST(SafetensorsBitFlips, NeverCrashAndNeverGiveATensorOutsideTheFile) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole =
      safetensors_file(object({entry("a", "F32", "[2]", 0, 8), entry("b", "F16", "[2]", 8, 12)}), 12);
  for (int round = 0; round < 2000; ++round) {
    std::string flipped = whole;
    flipped[random() % flipped.size()] ^= static_cast<char>(1U << (random() % 8));
    const auto header = parse(flipped);
    if (!header) continue;
    for (const NamedTensor& tensor : header->tensors) {
      EXPECT_GE(tensor.view.data, as_bytes(flipped).data());
      EXPECT_LE(tensor.view.data + tensor.view.size_bytes(), as_bytes(flipped).data() + flipped.size());
    }
  }
  testing::count_cases("safetensors_bit_flips", 2000);
}

}  // namespace
}  // namespace vitrine::loader
