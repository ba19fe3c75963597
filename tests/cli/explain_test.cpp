#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// A tiny model that brings no tokenizer.
std::string tiny_llama() {
  return data_path("models/llama").string();
}

std::vector<std::string> explain(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"explain", tiny_llama(), "--ids", "1,17,300,5", "-n", "6"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Explain, TheAnswerIsThatOfRunAndComesOutAgain) {
  for (const std::vector<std::string>& sampling :
       {std::vector<std::string>{}, {"--temperature", "0.9", "--top-p", "0.9", "--seed", "4"}}) {
    std::vector<std::string> words = explain({"--json"});
    words.insert(words.end(), sampling.begin(), sampling.end());
    const RunResult explained = run_vitrine(words);
    ASSERT_EQ(explained.exit_code, 0) << explained.err;
    words[0] = "run";
    const Json run = Json::parse(run_vitrine(words).out);
    const Json xray = Json::parse(explained.out);
    EXPECT_EQ(xray["replay"]["equal"], true);
    std::vector<int> answer;
    for (std::size_t i = 4; i < xray["tokens"].size(); ++i)
      answer.push_back(xray["tokens"][i]["id"].get<int>());
    EXPECT_EQ(Json(answer), run["token_ids"]);
    EXPECT_EQ(xray["steps"].size(), 6U);
    EXPECT_EQ(xray["shapes"][0].dump(), R"({"name":"input_ids","shape":[1,4]})");
    EXPECT_GT(xray["timeline"]["wall_s"], 0);
  }
}

TEST(Explain, AnUnseededDrawIsExplainedWithTheSeedThatWasUsed) {
  const Json xray = Json::parse(run_vitrine(explain({"--json", "--temperature", "1.5"})).out);
  EXPECT_TRUE(xray["sampling"]["seed"].is_number());
  EXPECT_EQ(xray["replay"]["equal"], true);
}

TEST(Explain, ThePageHasEachPart) {
  const RunResult page = run_vitrine(
      explain({"--temperature", "0.8", "--top-k", "5", "--seed", "1", "--step", "2", "--attention", "1,3"}));
  ASSERT_EQ(page.exit_code, 0) << page.err;
  for (const char* part : {"1 Time", "2 Tokens", "3 Layers", "4 Attention", "5 KV cache", "6 Sampler", "7 Memory",
                           "input_ids [1, 4]", "last_hidden_state [1, 4, 64]", "the same tokens came out", "head 3",
                           "token 2 of the answer", "top_k 5 (5)", "falls in ["})
    EXPECT_THAT(page.out, HasSubstr(part));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

TEST(Explain, AllStepsAreTheStepsOneAfterTheOther) {
  const std::vector<std::string> sampling = {"--temperature", "0.8", "--top-k", "5", "--seed", "1", "--step"};
  const auto page_of = [&](const std::string& step) {
    std::vector<std::string> words = sampling;
    words.push_back(step);
    return run_vitrine(explain(words)).out;
  };
  const std::string all = page_of("all");
  EXPECT_EQ(count_of(all, "CANDIDATE"), 6U);
  EXPECT_EQ(count_of(all, "6 Sampler"), 1U);
  std::size_t end = 0;
  for (int step = 0; step < 6; ++step) {
    const std::string one = page_of(std::to_string(step));
    const std::size_t begin = one.find("CANDIDATE");
    const std::string table = one.substr(begin, one.find("\n\n", begin) - begin);
    const std::size_t found = all.find(table, end);
    ASSERT_NE(found, std::string::npos) << table;
    EXPECT_THAT(all.substr(end, found - end), HasSubstr("token " + std::to_string(step) + " of the answer, position "));
    end = found + table.size();
  }
}

TEST(Explain, RefusesWhatThereIsNone) {
  expect_refusal(run_vitrine(explain({"--step", "some", "--quiet"})), 64, "--step: write the number of a token");
  expect_refusal(run_vitrine(explain({"--attention", "x", "--quiet"})), 64, "--attention: write LAYER or LAYER,HEAD");
  expect_refusal(run_vitrine({"explain", "--request", "req-1", "some prompt"}), 64, "it has its own prompt");
  expect_refusal(run_vitrine({"explain", "--request", "req-1", "--url", "http://127.0.0.1:9"}), 69, "127.0.0.1:9");
  const RunResult step = run_vitrine(explain({"--step", "6"}));
  EXPECT_EQ(step.exit_code, 64);
  EXPECT_THAT(step.err, HasSubstr("--step 6: the answer's tokens are 0 to 5"));
}

TEST(Explain, TheHtmlFileIsWholeAndHoldsTheData) {
  const TempDir temp;
  const fs::path file = temp.path() / "explain.html";
  const RunResult written = run_vitrine(explain({"--html", file.string(), "--quiet"}));
  ASSERT_EQ(written.exit_code, 0) << written.err;
  std::ifstream stream(file);
  const std::string html((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_LT(html.size(), 3'000'000U);
  EXPECT_THAT(html, HasSubstr("</html>"));
  EXPECT_EQ(html.find("VITRINE_XRAY_DATA"), std::string::npos);
  const std::size_t begin = html.find(R"({"xray":)");
  ASSERT_NE(begin, std::string::npos);
  const std::string data = html.substr(begin, html.find('<', begin) - begin);
  const Json json = Json::parse(data.substr(0, data.rfind('}') + 1));
  EXPECT_EQ(json["xray"]["steps"].size(), 6U);
  ASSERT_EQ(json["logits"]["top"].size(), 6U);
  EXPECT_EQ(json["logits"]["top"][0]["ids"].size(), 256U);
  EXPECT_EQ(json["lens"]["count"], 9);
  EXPECT_EQ(json["lens"]["layers"].size(), json["xray"]["shape"]["num_layers"].get<std::size_t>() + 1);
  EXPECT_EQ(json["attention"].size(), json["xray"]["shape"]["num_layers"].get<std::size_t>());
}

}  // namespace
}  // namespace vitrine::testing
