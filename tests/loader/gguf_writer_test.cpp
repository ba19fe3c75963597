#include "loader/gguf_writer.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/gguf.h"
#include "support/temp_dir.h"

namespace vitrine::loader {
namespace {

using ::testing::ElementsAre;

std::vector<std::byte> filled(std::size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

GgufOutline two_tensors() {
  GgufOutline outline;
  outline.add("general.architecture", "llama").add("llama.block_count", 3U).add("some.scale", 0.5F).add("flag", true);
  const std::vector<std::string> words = {"a", "", "three"};
  outline.add_array("words", words);
  outline.add_array<std::int32_t>("types", std::array<std::int32_t, 2>{1, -3});
  outline.add_tensor("first", {3, 5}, tensor::DType::kF16);  // 30 bytes: the next one needs padding
  outline.add_tensor("experts", {2, 3, 32}, tensor::DType::kQ8_0);
  return outline;
}

TEST(GgufWriter, WhatIsWrittenIsReadBack) {
  const testing::TempDir folder;
  const auto path = folder.path() / "model.gguf";
  const GgufOutline outline = two_tensors();
  {
    GgufFile file(path, outline);
    file.append(filled(10, 1));
    file.append(filled(20, 2));
    file.append(filled(2 * 3 * 34, 3));
    EXPECT_FALSE(std::filesystem::exists(path));
    file.finish();
  }
  EXPECT_EQ(std::filesystem::file_size(path), outline.file_bytes());
  const GgufModel model = open_gguf(path).value_or_throw();
  EXPECT_EQ(model.version, 3U);
  EXPECT_EQ(model.metadata.string_value("general.architecture").value_or_throw(), "llama");
  EXPECT_EQ(model.metadata.uint_value("llama.block_count", 0, 9).value_or_throw(), 3U);
  EXPECT_EQ(model.metadata.float_value("some.scale", 0, 1).value_or_throw(), 0.5);
  EXPECT_EQ(model.metadata.bool_value("flag").value_or_throw(), true);
  EXPECT_THAT(*model.metadata.string_array("words").value_or_throw(), ElementsAre("a", "", "three"));
  EXPECT_THAT(*model.metadata.int_array("types", -9, 9).value_or_throw(), ElementsAre(1, -3));
  const tensor::TensorView* first = model.weights->find("first");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->shape, (tensor::Shape{3, 5}));
  EXPECT_EQ(first->data[9], std::byte{1});
  EXPECT_EQ(first->data[29], std::byte{2});
  const tensor::TensorView* experts = model.weights->find("experts");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->shape, (tensor::Shape{2, 3, 32}));
  EXPECT_EQ(experts->type, tensor::DType::kQ8_0);
  EXPECT_EQ(experts->data[0], std::byte{3});
}

TEST(GgufWriter, AnUnfinishedFileLeavesNothingBehind) {
  const testing::TempDir folder;
  const GgufOutline outline = two_tensors();
  {
    GgufFile file(folder.path() / "model.gguf", outline);
    file.append(filled(30, 1));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(GgufWriter, APlaceThatCannotBeWrittenIsNamed) {
  const GgufOutline outline = two_tensors();
  try {
    GgufFile file("/no/such/folder/model.gguf", outline);
    FAIL() << "written";
  } catch (const base::Exception& exception) {
    EXPECT_EQ(exception.error().kind, base::ErrorKind::kIo);
    EXPECT_THAT(exception.error().message, ::testing::StartsWith("/no/such/folder/model.gguf: "));
  }
}

}  // namespace
}  // namespace vitrine::loader
