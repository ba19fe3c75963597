#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/temp_dir.h"

// count, compare, cost and train-bpe --explain with small tokenizers of our own.
namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class MoneyTest : public ::testing::Test {
 protected:
  MoneyTest() {
    fs::create_directories(folder_ / "pairs");
    write("gpt2.tiktoken", "YQ== 0\nYg== 1\nIA== 2\n");
    write("pairs/gpt2.tiktoken", "YQ== 0\nYg== 1\nIA== 2\nYWI= 3\nIGI= 4\n");
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  RunResult run(const std::vector<std::string>& words) const {
    return run_vitrine(words, {"VITRINE_HOME=" + path("home")});
  }
  Json json_of(std::vector<std::string> words) const {
    words.emplace_back("--json");
    const RunResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }

  TempDir temp_;
  fs::path folder_ = temp_.path();
};

TEST_F(MoneyTest, CountTakesTokenizerFiles) {
  const Json rows = json_of({"count", path("gpt2.tiktoken"), path("pairs"), "ab b"})["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["tokens"], 4);
  EXPECT_EQ(rows[1]["tokens"], 2);
  EXPECT_EQ(rows[1]["chars"], 4);
  EXPECT_TRUE(rows[1]["cost_per_call"].is_null());
}

TEST_F(MoneyTest, CompareRelatesTheTokensAndTheirCost) {
  const Json rows = json_of({"compare", "ab b", "--tokenizers", path("gpt2.tiktoken") + "," + path("pairs"), "--price",
                             "2.5", "--calls", "1000000"})["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["tokenizer"], path("pairs")) << "the fewest tokens come first";
  EXPECT_EQ(rows[0]["pieces"], Json({"ab", " b"}));
  EXPECT_EQ(rows[0]["relative_cost"], 1.0);
  EXPECT_EQ(rows[1]["relative_cost"], 2.0);
  EXPECT_EQ(rows[0]["bytes_per_token"], 2.0);
  EXPECT_EQ(rows[0]["chars_per_token"]["latin"], 2.0);
  EXPECT_TRUE(rows[0]["chars_per_token"]["chinese"].is_null());
  EXPECT_DOUBLE_EQ(rows[1]["cost_per_call"], 0.00001);
  EXPECT_DOUBLE_EQ(rows[1]["cost_per_day"], 10.0);
}

TEST_F(MoneyTest, CompareShowsThePiecesWithBarsWhereThereIsNoColour) {
  const RunResult result = run({"compare", "ab b", "--tokenizers", path("pairs")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ab| b\n"));
  EXPECT_THAT(run({"compare", "abab", "--tokenizers", path("pairs"), "--max-pieces", "1"}).out,
              HasSubstr("ab ... and 1 more"));
}

TEST_F(MoneyTest, CompareWithoutAnyTokenizerSaysHowToGetOne) {
  expect_refusal(run({"compare", "ab"}), 66, "vitrine pull tok:");
  expect_refusal(run({"count", "tok:llama3_1", "ab"}), 66, "vitrine pull tok:llama3_1");
  expect_refusal(run({"count", "tok:llama31", "ab"}), 66, "did you mean tok:llama3_1?");
}

TEST_F(MoneyTest, CostIsOfPromptCachedPromptAndAnswer) {
  const Json report = json_of({"cost", "ab b", "--tokenizers", path("gpt2.tiktoken"), "--price", "2", "--cached-price",
                               "1", "--output-price", "10", "--cached-percent", "50", "--output-tokens", "100"});
  ASSERT_EQ(report["rows"].size(), 1U);
  const Json& row = report["rows"][0];
  EXPECT_EQ(row["tokens"], 4);
  EXPECT_EQ(row["cached_tokens"], 2);
  EXPECT_EQ(row["output_tokens"], 100);
  EXPECT_DOUBLE_EQ(row["cost_per_call"], 0.001006);
  EXPECT_DOUBLE_EQ(row["cost_per_day"], 100.6);
  EXPECT_DOUBLE_EQ(row["cost_per_month"], 3018.0);
  EXPECT_EQ(report["calls_per_day"], 100000);
}

TEST_F(MoneyTest, CostTakesPricesAndTokenizersFromATable) {
  const std::string prices =
      write("prices.toml", "date = '2025-01-31'\ncurrency = 'EUR'\n[models.tiny]\ntokenizer = '" + path("pairs") +
                               "'\ninput = 10\noutput = 20\n");
  const RunResult result = run({"cost", "ab b", "--prices", prices, "--calls", "50000", "--days", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0.00002     1.00       2.00"));
  EXPECT_THAT(result.out, HasSubstr("EUR, at the list prices of 2025-01-31: 50000 calls a day, 2 days a month."));
  expect_refusal(run({"cost", "ab", "--prices", prices, "--models", "huge"}), 64, "huge has no price");
}

TEST_F(MoneyTest, CostOfTokensNeedsNoTokenizer) {
  const Json report = json_of({"cost", "--tokens", "1000000", "--models", "gpt-4o"});
  EXPECT_EQ(report["rows"][0]["model"], "gpt-4o");
  EXPECT_DOUBLE_EQ(report["rows"][0]["cost_per_call"], 2.5);
  EXPECT_TRUE(report["rows"][0]["tokenizer"].is_null());
  EXPECT_TRUE(report["prices_date"].is_string());
}

TEST_F(MoneyTest, CostNamesTheModelsWhoseTokenizerIsNotHere) {
  const Json report = json_of({"cost", "ab"});
  EXPECT_TRUE(report["rows"].empty());
  EXPECT_GE(report["missing"].size(), 10U);
  EXPECT_THAT(run({"cost", "ab"}).err, HasSubstr("vitrine pull tok:deepseek_v3"));
  expect_refusal(run({"cost", "ab", "--models", "gpt-4"}), 66, "vitrine pull tok:tiktoken_cl100k_base");
}

TEST_F(MoneyTest, ThePriceTableThatIsShownCanBeGivenBack) {
  const RunResult shown = run({"cost", "--show-prices"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const Json report = json_of({"cost", "--tokens", "10", "--prices", write("prices.toml", shown.out)});
  EXPECT_GE(report["rows"].size(), 10U);
}

TEST_F(MoneyTest, CostRefusesPricesThatContradict) {
  expect_refusal(run({"cost", "ab", "--price", "x"}), 64, "--price");
  expect_refusal(run({"cost", "ab", "--output-price", "1"}), 64, "give --price as well");
  expect_refusal(run({"cost", "ab", "--price", "1", "--models", "gpt-4"}), 64, "--models");
}

TEST_F(MoneyTest, TrainBpeExplainsItsMerges) {
  const std::string corpus = write("toy.txt", "大语言模型是人工智能的重要突破大语言模型改变了开发者的工作方式");
  const Json report = json_of({"train-bpe", corpus, "--vocab", "261", "--explain"});
  ASSERT_EQ(report["steps"].size(), 5U);
  std::size_t num_tokens = report["bytes"];
  double ratio = 1;
  for (const Json& step : report["steps"]) {
    EXPECT_LE(step["tokens"], num_tokens - 2) << "every place of the pair is one token fewer";
    EXPECT_GT(step["bytes_per_token"], ratio);
    EXPECT_GE(step["count"], 2);
    num_tokens = step["tokens"];
    ratio = step["bytes_per_token"];
  }
  EXPECT_EQ(report["tokens"], num_tokens);
  EXPECT_TRUE(report["file"].is_null());
  const RunResult result = run({"train-bpe", corpus, "--vocab", "261", "--explain", "--out", path("out")});
  EXPECT_THAT(result.out, HasSubstr("NEW TOKEN"));
  EXPECT_TRUE(fs::exists(folder_ / "out" / "tokenizer.json"));
  expect_refusal(run({"train-bpe", corpus, "--vocab", "261"}), 64, "--out: missing");
}

TEST_F(MoneyTest, TrainBpeExplainsMergesOfCharacters) {
  const std::string corpus = write("toy.txt", "大语言模型是人工智能的重要突破大语言模型改变了开发者的工作方式");
  const Json report =
      json_of({"train-bpe", corpus, "--merges", "5", "--characters", "--explain", "--min-frequency", "1"});
  ASSERT_EQ(report["steps"].size(), 5U);
  EXPECT_EQ(report["steps"][0]["tokens"], 29) << "31 characters, two pairs joined";
  EXPECT_EQ(report["steps"][3]["merged"], "大语言模型");
  EXPECT_EQ(report["steps"][3]["tokens"], 23);
  EXPECT_EQ(report["steps"][4]["count"], 1) << "nothing else occurs twice";
  expect_refusal(run({"train-bpe", corpus, "--merges", "5", "--characters", "--out", path("out")}), 64, "--characters");
  expect_refusal(run({"train-bpe", corpus, "--merges", "5", "--vocab", "300", "--explain"}), 64, "--vocab");
}

}  // namespace
}  // namespace vitrine::testing
