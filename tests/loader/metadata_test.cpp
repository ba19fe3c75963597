#include "loader/metadata.h"

#include <cmath>
#include <limits>

#include "loader/expect_error.h"
#include "loader/gguf.h"
#include "support/gguf_writer.h"

namespace vitrine::loader {
namespace {

using base::ErrorKind::kBadFile;
using testing::GgufWriter;

// Metadata and the bytes that it points into.
class MetadataTest : public ::testing::Test {
 protected:
  const Metadata& parse(const GgufWriter& writer) {
    file_ = writer.build();
    metadata_ = parse_gguf(as_bytes(file_)).metadata;
    return metadata_;
  }

 private:
  std::string file_;
  Metadata metadata_;
};

TEST_F(MetadataTest, AbsentKeysAreNotErrors) {
  const Metadata& metadata = parse(GgufWriter());
  EXPECT_EQ(metadata.find("k"), nullptr);
  EXPECT_FALSE(metadata.uint_value("k", 0, 1)->has_value());
  EXPECT_FALSE(metadata.string_value("k")->has_value());
  EXPECT_FALSE(metadata.float_array("k")->has_value());
}

TEST_F(MetadataTest, IntegersOfEveryWidthAreReadAlike) {
  const Metadata& metadata = parse(GgufWriter()
                                       .add("u8", std::uint8_t{200})
                                       .add("i8", std::int8_t{100})
                                       .add("u16", std::uint16_t{60000})
                                       .add("i16", std::int16_t{30000})
                                       .add("u32", 4000000000U)
                                       .add("i32", 2000000000)
                                       .add("u64", std::numeric_limits<std::uint64_t>::max())
                                       .add("i64", std::int64_t{1} << 60U));
  const auto value = [&](std::string_view key) { return **metadata.uint_value(key, 0, UINT64_MAX); };
  EXPECT_EQ(value("u8"), 200U);
  EXPECT_EQ(value("i8"), 100U);
  EXPECT_EQ(value("u16"), 60000U);
  EXPECT_EQ(value("i16"), 30000U);
  EXPECT_EQ(value("u32"), 4000000000U);
  EXPECT_EQ(value("i32"), 2000000000U);
  EXPECT_EQ(value("u64"), UINT64_MAX);
  EXPECT_EQ(value("i64"), std::uint64_t{1} << 60U);
}

TEST_F(MetadataTest, NegativeNumbersAreNoUnsignedOnes) {
  const Metadata& metadata = parse(GgufWriter().add("k", std::int32_t{-1}));
  expect_error(metadata.uint_value("k", 0, UINT64_MAX), kBadFile, "metadata key \"k\"");
  EXPECT_EQ(**metadata.int_value("k", -5, 5), -1);
}

TEST_F(MetadataTest, ValuesOutsideTheRangeAreRefusedByKey) {
  const Metadata& metadata = parse(GgufWriter().add("k", 7U).add("f", 0.5F).add("nan", std::nanf("")));
  expect_error(metadata.uint_value("k", 8, 10), kBadFile, "metadata key \"k\": must be 8 to 10, is 7");
  expect_error(metadata.uint_value("k", 0, 6), kBadFile, "must be 0 to 6, is 7");
  expect_error(metadata.float_value("f", 1, 2), kBadFile, "metadata key \"f\"");
  expect_error(metadata.float_value("nan", -1e300, 1e300), kBadFile, "metadata key \"nan\"");
}

TEST_F(MetadataTest, WrongTypesAreRefusedByKeyAndType) {
  const Metadata& metadata = parse(GgufWriter().add("s", "text").add_array("a", std::vector<float>{1}));
  expect_error(metadata.uint_value("s", 0, 1), kBadFile, "is string");
  expect_error(metadata.string_value("a"), kBadFile, "is array of float32");
  expect_error(metadata.int_array("a", 0, 1), kBadFile, "must be an array of integers");
  expect_error(metadata.string_array("a"), kBadFile, "must be an array of strings");
}

TEST_F(MetadataTest, BoolsAreZeroOrOne) {
  const Metadata& metadata = parse(GgufWriter().add("yes", true).add("no", false).add_raw("bad", 7, "\x02"));
  EXPECT_TRUE(**metadata.bool_value("yes"));
  EXPECT_FALSE(**metadata.bool_value("no"));
  expect_error(metadata.bool_value("bad"), kBadFile, "0 or 1");
}

TEST_F(MetadataTest, FloatsOfBothWidthsAreReadAlike) {
  const Metadata& metadata = parse(GgufWriter().add("f", 0.25F).add("d", 0.1));
  EXPECT_EQ(**metadata.float_value("f", 0, 1), 0.25);
  EXPECT_EQ(**metadata.float_value("d", 0, 1), 0.1);
}

TEST_F(MetadataTest, ArraysKeepOrderAndLength) {
  const Metadata& metadata = parse(GgufWriter()
                                       .add_array("i", std::vector<std::int32_t>{3, -1, 2})
                                       .add_array("f", std::vector<float>{0.5F, -2})
                                       .add_array("s", std::vector<std::string>{"x", "", "yz"})
                                       .add_array("none", std::vector<std::string>{}));
  EXPECT_THAT(**metadata.int_array("i", -1, 3), ::testing::ElementsAre(3, -1, 2));
  EXPECT_THAT(**metadata.float_array("f"), ::testing::ElementsAre(0.5F, -2));
  EXPECT_THAT(**metadata.string_array("s"), ::testing::ElementsAre("x", "", "yz"));
  EXPECT_THAT(**metadata.string_array("none"), ::testing::IsEmpty());
  expect_error(metadata.int_array("i", 0, 3), kBadFile, "must be 0 to 3, is -1");
}

TEST_F(MetadataTest, EntriesKeepFileOrder) {
  const Metadata& metadata = parse(GgufWriter().add("z", 1U).add("a", 2U));
  ASSERT_EQ(metadata.entries().size(), 2U);
  EXPECT_EQ(metadata.entries()[0].key, "z");
  EXPECT_EQ(metadata_type_name(metadata.entries()[0].value.type), "uint32");
}

}  // namespace
}  // namespace vitrine::loader
