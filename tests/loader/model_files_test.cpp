#include "loader/model_files.h"

#include "loader/expect_error.h"
#include "loader/safetensors_builder.h"
#include "support/gguf_writer.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"

namespace vitrine::loader {
namespace {

using base::ErrorKind::kBadFile;
using base::ErrorKind::kMissing;
using testing::GgufWriter;
using testing::TempDir;

TEST(ModelFiles, TellsAGgufByItsContent) {
  const TempDir directory;
  const auto path = directory.write("model.bin", GgufWriter().add("a", 1U).build());
  auto files = open_model_files(path);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_TRUE(std::holds_alternative<GgufModel>(*files));
}

TEST(ModelFiles, OpensAModelFolder) {
  auto files = open_model_files(testing::data_path("models/llama"));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_TRUE(std::holds_alternative<HfModel>(*files));
}

TEST(ModelFiles, OpensTheOnlyGgufOfAFolder) {
  const TempDir directory;
  directory.write("README.md", "text");
  directory.write("model.gguf", GgufWriter().add("a", 1U).build());
  auto files = open_model_files(directory.path());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_TRUE(std::holds_alternative<GgufModel>(*files));
}

TEST(ModelFiles, DoesNotChooseAmongSeveralGgufs) {
  const TempDir directory;
  directory.write("a.gguf", "GGUF");
  directory.write("b.gguf", "GGUF");
  expect_error(open_model_files(directory.path()), kBadFile, "several GGUF models");
}

TEST(ModelFiles, MissingPathIsMissing) {
  expect_error(open_model_files("/nonexistent/x"), kMissing, "/nonexistent/x");
}

TEST(ModelFiles, EmptyFolderIsNoModel) {
  const TempDir directory;
  expect_error(open_model_files(directory.path()), kBadFile, "not a model folder");
}

TEST(ModelFiles, NamesWhatItRefuses) {
  const TempDir directory;
  const auto expect_refusal = [&](std::string_view content, std::string_view reason) {
    expect_error(open_model_files(directory.write("file", content)), kBadFile, reason);
  };
  expect_refusal("", "shorter than 4 bytes");
  expect_refusal("GGU", "shorter than 4 bytes");
  expect_refusal("PK\x03\x04....", "zip archive");
  expect_refusal("\x80\x02....", "pickle");
  expect_refusal("tjgg....", "convert it to GGUF");
  expect_refusal("version https://git-lfs.github.com/spec/v1", "Git LFS pointer");
  expect_refusal("{\"a\": 1}", "JSON file");
  expect_refusal("<!DOCTYPE html>", "HTML");
  expect_refusal(safetensors_file("{}", 0), "give the folder");
  expect_refusal("some text", "not a model");
}

}  // namespace
}  // namespace vitrine::loader
