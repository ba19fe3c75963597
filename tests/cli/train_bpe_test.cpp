#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TrainBpeTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string out() const { return (folder_ / "new" / "tokenizer").string(); }

  TempDir temp_;
  fs::path folder_ = temp_.path();
};

TEST_F(TrainBpeTest, WritesATokenizerAndItsFigures) {
  const std::string prose = data_path("quality/prose.txt").string();
  const RunResult result = run_vitrine(
      {"train-bpe", prose, prose, "--vocab", "600", "--special", "<|endoftext|>", "--out", out(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["files"], 2);
  EXPECT_EQ(json["bytes"], 2 * fs::file_size(prose));
  EXPECT_EQ(json["merges"], 343);
  EXPECT_EQ(json["vocab_size"], 600);
  EXPECT_GT(json["bytes_per_token"], 1.5);
  for (const char* const field : {"words", "distinct_words", "tokens", "count_s", "merge_s", "write_s", "seconds"})
    EXPECT_TRUE(json[field].is_number()) << field;

  const auto tokenizer =
      tokenizer::Tokenizer::from_tokenizer_json(read_file(fs::path(out()) / "tokenizer.json"), "").value_or_throw();
  EXPECT_EQ(tokenizer->vocab_size(), 600u);
  EXPECT_EQ(tokenizer->find("<|endoftext|>"), 0);
  // The figure is of the very text that was counted.
  EXPECT_EQ(2 * tokenizer->encode(read_file(prose), {}).value_or_throw().size(), json["tokens"]);
}

TEST_F(TrainBpeTest, GivesTheSameFileWithAnyNumberOfThreads) {
  const std::string code = data_path("quality/code.txt").string();
  const std::string prose = data_path("quality/prose.txt").string();
  std::vector<std::string> files;
  for (const char* const threads : {"1", "2", "3"}) {
    const RunResult result =
        run_vitrine({"train-bpe", code, prose, "--vocab", "700", "--out", out(), "--threads", threads});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    files.push_back(read_file(fs::path(out()) / "tokenizer.json"));
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(files[0], files[2]);
}

TEST_F(TrainBpeTest, SaysWhenTheTextGivesFewerTokens) {
  const RunResult result = run_vitrine({"train-bpe", write("few", "ab ab"), "--vocab", "300", "--out", out()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("257 tokens, not 300"));
}

TEST_F(TrainBpeTest, RefusesWhatItCannotUse) {
  const std::string text = write("text", "some text");
  const auto exit_code = [&](const std::vector<std::string>& words) { return run_vitrine(words).exit_code; };
  EXPECT_EQ(exit_code({"train-bpe", "/nowhere/text", "--vocab", "300", "--out", out()}), 66);
  EXPECT_EQ(exit_code({"train-bpe", folder_.string(), "--vocab", "300", "--out", out()}), 65);
  EXPECT_EQ(exit_code({"train-bpe", write("empty", ""), "--vocab", "300", "--out", out()}), 65);
  EXPECT_EQ(exit_code({"train-bpe", text, "--vocab", "100", "--out", out()}), 64);
  EXPECT_EQ(exit_code({"train-bpe", text, "--vocab", "300", "--out", out(), "--splitter", "none"}), 64);
  EXPECT_EQ(exit_code({"train-bpe", text, "--vocab", "300", "--out", out(), "--special", ""}), 64);
  EXPECT_EQ(exit_code({"train-bpe", text, "--vocab", "300"}), 64);
  EXPECT_FALSE(fs::exists(out()));
}

}  // namespace
}  // namespace vitrine::testing
