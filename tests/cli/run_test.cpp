#include <algorithm>
#include <cstdlib>
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

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string model(const std::string& name) {
  return data_path("models/" + name).string();
}

std::string join(const std::vector<int>& ids) {
  std::string text;
  for (const int id : ids)
    text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items())
    names.push_back(name);
  return names;
}

RunResult run(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  return run_vitrine(words);
}

Json run_json(std::vector<std::string> words) {
  words.emplace_back("--json");
  const RunResult result = run(std::move(words));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

// A real model with tokenizer and template, named by VITRINE_TEST_MODEL (a GGUF file).
const char* text_model() {
  return std::getenv("VITRINE_TEST_MODEL");
}

double stages_s(const Json& timings) {
  double sum = 0;
  for (const char* stage :
       {"load_s", "queue_s", "template_s", "tokenize_s", "prefill_s", "decode_s", "sample_s", "detokenize_s"})
    sum += timings.at(stage).get<double>();
  return sum;
}

TEST(Run, GreedyTokensOfEveryTinyModelAreTheReferences) {
  std::size_t num_models = 0;
  for (const auto& entry : fs::directory_iterator(data_path("models"))) {
    if (!fs::exists(entry.path() / "reference.json")) continue;
    const Json reference = read_json(entry.path() / "reference.json");
    const auto prompt = reference.at("input_ids").at("40").get<std::vector<int>>();
    const Json answer = run_json(
        {entry.path().string(), "--ids", join(prompt), "-n", "24", "--reference", "--kv-type", "f32", "--ignore-eos"});
    EXPECT_EQ(answer.at("token_ids"), reference.at("greedy").at("tokens")) << entry.path();
    ++num_models;
  }
  EXPECT_GT(num_models, 0U);
  count_cases("tiny models through run", num_models);
}

TEST(Run, JsonHasItsFieldsAndNoOthers) {
  const Json answer = run_json({model("llama"), "--ids", "1,2,3", "-n", "4", "--temperature", "0"});
  EXPECT_THAT(keys(answer), ::testing::UnorderedElementsAre("text", "token_ids", "finish_reason", "usage", "timings",
                                                            "memory", "warnings"));
  EXPECT_THAT(keys(answer.at("usage")),
              ::testing::UnorderedElementsAre("prompt_tokens", "completion_tokens", "cached_tokens"));
  EXPECT_THAT(
      keys(answer.at("timings")),
      ::testing::UnorderedElementsAre("load_s", "queue_s", "template_s", "tokenize_s", "prefill_s", "decode_s",
                                      "sample_s", "detokenize_s", "unaccounted_s", "total_s", "ttft_s", "itl_p50_s",
                                      "itl_p99_s", "tpot_s", "prefill_tokens_per_s", "decode_tokens_per_s"));
  EXPECT_THAT(keys(answer.at("memory")),
              ::testing::UnorderedElementsAre("weights_bytes", "kv_bytes", "kv_allocated_bytes", "activations_bytes",
                                              "scratch_bytes", "prefix_cache_bytes", "other_bytes", "rss_bytes"));
}

TEST(Run, StagesAndRemainderSumToTheTotal) {
  const Json timings = run_json({model("llama"), "--ids", "1,2,3", "-n", "16"}).at("timings");
  EXPECT_NEAR(stages_s(timings) + timings.at("unaccounted_s").get<double>(), timings.at("total_s").get<double>(), 1e-9);
  EXPECT_GE(timings.at("unaccounted_s").get<double>(), 0.0);
}

TEST(Run, KvBytesAreThoseOfTheTokensHeldAndOfWholeBlocks) {
  const Json memory = run_json({model("llama"), "--ids", "1,2,3", "-n", "4", "--kv-type", "f32"}).at("memory");
  // Three prompt tokens and three of the four generated ones are computed; a block has 16.
  EXPECT_EQ(memory.at("kv_bytes").get<int>() % 6, 0);
  EXPECT_EQ(memory.at("kv_bytes").get<int>() / 6 * 16, memory.at("kv_allocated_bytes").get<int>());
}

TEST(Run, WithoutSamplingFlagsAnAnswerIsTheSameEveryTime) {
  const std::vector<std::string> words = {model("llama"), "--ids", "5,6,7", "-n", "12"};
  const std::string first = run(words).out;
  EXPECT_EQ(run(words).out, first);
  std::vector<std::string> greedy = words;
  greedy.insert(greedy.end(), {"--temperature", "0"});
  EXPECT_EQ(run(greedy).out, first);
}

TEST(Run, ASeedMakesASampledAnswerRepeatable) {
  const std::vector<std::string> words = {model("llama"), "--ids", "5,6,7", "-n", "12", "--seed", "7"};
  const std::string first = run(words).out;
  EXPECT_EQ(run(words).out, first);
  EXPECT_NE(run({model("llama"), "--ids", "5,6,7", "-n", "12", "--seed", "8"}).out, first);
}

TEST(Run, MaxTokensZeroToThreeGiveAsManyTokens) {
  for (std::size_t n = 0; n <= 3; ++n) {
    const Json answer = run_json({model("llama"), "--ids", "1,2,3", "-n", std::to_string(n)});
    EXPECT_EQ(answer.at("token_ids").size(), n);
    EXPECT_EQ(answer.at("usage").at("completion_tokens"), n);
    EXPECT_EQ(answer.at("finish_reason"), "length");
    EXPECT_EQ(answer.at("timings").at("ttft_s").is_null(), n == 0);
    EXPECT_TRUE(answer.at("warnings").empty());
  }
}

TEST(Run, AnAnswerThatFillsTheContextSaysSo) {
  const RunResult result = run({model("llama"), "--ids", "1,2,3,4,5,6,7,8", "-c", "12", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(answer.at("token_ids").size(), 4U);
  EXPECT_EQ(answer.at("finish_reason"), "length");
  EXPECT_THAT(answer.at("warnings").dump(), HasSubstr("8 tokens of prompt and 4 of answer"));
  EXPECT_THAT(result.err, HasSubstr("context is full"));
}

TEST(Run, APromptLongerThanTheContextIsRefusedWithBothNumbers) {
  const RunResult result = run({model("llama"), "--ids", "1,2,3,4,5,6,7,8", "-c", "4"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("8 tokens"));
  EXPECT_THAT(result.err, HasSubstr("the 4 tokens"));
}

TEST(Run, AdviceIsAWarningAndUnderStrictAnError) {
  const std::vector<std::string> words = {model("llama"),  "--ids", "1",       "-n", "1",
                                          "--temperature", "0",     "--top-k", "5"};
  EXPECT_THAT(run_json(words).at("warnings").dump(), HasSubstr("top_k has no effect"));
  std::vector<std::string> strict = words;
  strict.emplace_back("--strict");
  const RunResult result = run(strict);
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("--strict"));
}

TEST(Run, LogprobsAreShownWhereAskedFor) {
  const Json answer = run_json({model("llama"), "--ids", "1,2", "-n", "2", "--logprobs", "--top-logprobs", "3"});
  ASSERT_EQ(answer.at("logprobs").size(), 2U);
  const Json& first = answer.at("logprobs").at(0);
  EXPECT_EQ(first.at("id"), answer.at("token_ids").at(0));
  EXPECT_EQ(first.at("top_logprobs").size(), 3U);
  EXPECT_EQ(first.at("top_logprobs").at(0).at("id"), first.at("id"));
}

TEST(Run, WrongUseIsRefusedInOneLine) {
  const std::string tiny = model("llama");
  const std::vector<std::vector<std::string>> cases = {
      {},
      {tiny},  // an empty stdin is no prompt
      {tiny, "--ids", "1,x"},
      {tiny, "--ids", ","},
      {tiny, "--ids", "320"},
      {tiny, "--ids", "-1"},
      {tiny, "text", "--ids", "1"},
      {tiny, "--ids", "1", "--chat"},
      {tiny, "text", "--system", "s"},
      {tiny, "text", "--chat", "--no-parse-special"},
      {tiny, "--ids", "1", "--json-schema", "schema.json"},
      {tiny, "--ids", "1", "--kv-type", "q4_k"},
      {tiny, "--ids", "1", "--kv-memory", "much"},
      {tiny, "--ids", "1", "-c", "1000000"},
      {tiny, "--ids", "1", "--temperature", "3"},
      {tiny, "--ids", "1", "--tensor-parallel-size", "2"},
      {tiny, "--ids", "1", "--gpu-memory-utilization", "0.9"},
      {tiny, "--ids", "1", "-n", "-1"},
  };
  for (const auto& words : cases) {
    const RunResult result = run(words);
    EXPECT_EQ(result.exit_code, 64) << ::testing::PrintToString(words) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(Run, TextForAModelWithoutATokenizerIsRefused) {
  const RunResult result = run({model("llama"), "Hello"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_THAT(result.err, HasSubstr("--ids"));
}

TEST(Run, BrokenFilesAreRefusedInOneLineAndAtOnce) {
  const Json cases = read_json(data_path("gguf_malformed.json"));
  const TempDir temp;
  const fs::path path = temp.path() / "broken.gguf";
  for (const auto& item : cases) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << from_hex(item.at("hex").get<std::string>());
    const RunResult result = run({path.string(), "--ids", "1"});
    EXPECT_EQ(result.exit_code, 65) << item.at("name") << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << item.at("name") << result.err;
    EXPECT_LT(result.seconds, 1.0) << item.at("name");
  }
  count_cases("gguf_malformed through run", cases.size());
}

TEST(Run, PartsOfARealRequestSumWithinTwoPercent) {
  if (text_model() == nullptr) VT_SKIP_WITHOUT("a model named by VITRINE_TEST_MODEL");
  const Json answer = run_json({text_model(), "The KV cache is", "-n", "16"});
  const Json& timings = answer.at("timings");
  EXPECT_NEAR(stages_s(timings), timings.at("total_s").get<double>(), 0.02 * timings.at("total_s").get<double>());
  EXPECT_EQ(answer.at("text").get<std::string>().empty(), false);
}

TEST(Run, AStopTextEndsAnAnswerBeforeIt) {
  if (text_model() == nullptr) VT_SKIP_WITHOUT("a model named by VITRINE_TEST_MODEL");
  const std::string whole = run_json({text_model(), "Once upon a time", "-n", "20"}).at("text");
  ASSERT_GT(whole.size(), 20U);
  const std::string stop = whole.substr(10, 5);
  const Json answer = run_json({text_model(), "Once upon a time", "-n", "20", "--stop", stop});
  EXPECT_EQ(answer.at("text"), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(answer.at("finish_reason"), "stop");
}

TEST(Run, ExamplesAndASystemMessageGoThroughTheTemplate) {
  if (text_model() == nullptr) VT_SKIP_WITHOUT("a model named by VITRINE_TEST_MODEL");
  const TempDir temp;
  const fs::path path = temp.write("examples", "{\"user\": \"2+2\", \"assistant\": \"4\"}\n");
  const auto prompt_tokens = [&](std::vector<std::string> flags) {
    std::vector<std::string> words = {text_model(), "3+3", "-n", "0"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_json(words).at("usage").at("prompt_tokens").get<int>();
  };
  EXPECT_LT(prompt_tokens({}), prompt_tokens({"--examples", path}));
  EXPECT_LT(prompt_tokens({"--chat"}), prompt_tokens({"--chat", "--examples", path}));
  EXPECT_NE(prompt_tokens({"--chat"}), prompt_tokens({"--chat", "--system", "Add numbers and say nothing else."}));
}

}  // namespace
}  // namespace vitrine::testing
