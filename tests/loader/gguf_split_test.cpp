#include "loader/gguf_split.h"

#include "loader/expect_error.h"
#include "loader/gguf.h"
#include "support/gguf_writer.h"
#include "support/temp_dir.h"

namespace vitrine::loader {
namespace {

using base::ErrorKind::kBadFile;
using base::ErrorKind::kMissing;
using testing::GgufWriter;
using testing::TempDir;

const std::vector<float> kFour{1, 2, 3, 4};

struct PartKeys {
  std::uint16_t number;
  std::uint16_t count = 3;
  std::int32_t num_tensors = 3;
};

std::filesystem::path part_path(const TempDir& directory, int number) {
  return directory.path() / ("model-0000" + std::to_string(number) + "-of-00003.gguf");
}

GgufWriter part(const PartKeys& keys, std::string_view tensor_name) {
  GgufWriter writer;
  if (keys.number == 0) writer.add("general.architecture", "llama");
  writer.add("split.no", keys.number).add("split.count", keys.count).add("split.tensors.count", keys.num_tensors);
  return writer.add_tensor(tensor_name, {2, 2}, kFour);
}

void write_three_parts(const TempDir& directory) {
  part({.number = 0}, "a").write(part_path(directory, 1));
  part({.number = 1}, "b").write(part_path(directory, 2));
  part({.number = 2}, "c").write(part_path(directory, 3));
}

TEST(GgufSplit, AnyPartOpensTheWholeModel) {
  const TempDir directory;
  write_three_parts(directory);
  for (int number = 1; number <= 3; ++number) {
    auto model = open_gguf(part_path(directory, number));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->weights->tensors().size(), 3U);
    EXPECT_NE(model->weights->find("c"), nullptr);
    EXPECT_EQ(**model->metadata.string_value("general.architecture"), "llama");
  }
}

TEST(GgufSplit, AMissingPartIsMissingByName) {
  const TempDir directory;
  write_three_parts(directory);
  std::filesystem::remove(part_path(directory, 2));
  expect_error(open_gguf(part_path(directory, 1)), kMissing, "model-00002-of-00003.gguf");
}

TEST(GgufSplit, PartsInTheWrongPlaceAreRefused) {
  const TempDir directory;
  write_three_parts(directory);
  part({.number = 2}, "b").write(part_path(directory, 2));
  expect_error(open_gguf(part_path(directory, 1)), kBadFile, "split.no is 2");
}

TEST(GgufSplit, PartsOfAnotherCountAreRefused) {
  const TempDir directory;
  write_three_parts(directory);
  part({.number = 1, .count = 4}, "b").write(part_path(directory, 2));
  expect_error(open_gguf(part_path(directory, 1)), kBadFile, "split.count is 4");
}

TEST(GgufSplit, PartsWithoutSplitKeysAreRefused) {
  const TempDir directory;
  write_three_parts(directory);
  GgufWriter().add_tensor("a", {2, 2}, kFour).write(part_path(directory, 1));
  expect_error(open_gguf(part_path(directory, 1)), kBadFile, "split.count is 1");
}

TEST(GgufSplit, TensorCountThatDoesNotAddUpIsRefused) {
  const TempDir directory;
  write_three_parts(directory);
  part({.number = 0, .num_tensors = 4}, "a").write(part_path(directory, 1));
  expect_error(open_gguf(part_path(directory, 1)), kBadFile, "split.tensors.count is 4");
}

TEST(GgufSplit, OneTensorInTwoPartsIsRefused) {
  const TempDir directory;
  write_three_parts(directory);
  part({.number = 1}, "a").write(part_path(directory, 2));
  expect_error(open_gguf(part_path(directory, 1)), kBadFile, "more than once");
}

TEST(GgufSplit, APartUnderAnotherNameIsRefused) {
  const TempDir directory;
  part({.number = 0}, "a").write(directory.path() / "renamed.gguf");
  expect_error(open_gguf(directory.path() / "renamed.gguf"), kBadFile, "one of 3 parts");
}

TEST(GgufSplit, ABrokenPartIsNamed) {
  const TempDir directory;
  write_three_parts(directory);
  directory.write("model-00003-of-00003.gguf", "GGUF");
  expect_error(open_gguf(part_path(directory, 1)), kBadFile, "model-00003-of-00003.gguf");
}

TEST(GgufSplitName, ParsesStemPartAndCount) {
  const auto name = parse_split_name("/models/big-q4-00002-of-00010.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "big-q4");
  EXPECT_EQ(name->part_idx, 1U);
  EXPECT_EQ(name->num_parts, 10U);
  EXPECT_EQ(split_part_path(*name, 9), "/models/big-q4-00010-of-00010.gguf");
}

TEST(GgufSplitName, RefusesWhatIsNoPart) {
  for (const char* path : {"model.gguf", "-00001-of-00002.gguf", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf",
                           "m-0000a-of-00002.gguf", "m-00001-of-00002.bin", "m-00001-of-99999.gguf"}) {
    EXPECT_FALSE(parse_split_name(path)) << path;
  }
}

}  // namespace
}  // namespace vitrine::loader
