#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tools/fake_hub.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Json plan(std::vector<std::string> words) {
  words.insert(words.begin(), "plan");
  words.insert(words.end(), {"--json", "--no-measure"});
  const RunResult result = run_vitrine(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

TEST(Plan, ARowForEachContextBatchAndType) {
  const Json answer = plan({"llama-3.1-8b", "--context", "4096,32768", "--batch", "1,2", "--kv-type", "f16,q8_0,q4_0"});
  const Json& rows = answer.at("rows");
  ASSERT_EQ(rows.size(), 12U);
  EXPECT_EQ(rows[0].at("kv_bytes"), 536870912U);
  EXPECT_EQ(rows[0].at("kv_allocated_bytes"), 536870912U);
  EXPECT_EQ(rows[3].at("kv_bytes"), 2 * 4294967296U);
  EXPECT_EQ(rows[4].at("kv_bytes"), 285212672U);
  EXPECT_EQ(rows[8].at("kv_bytes"), 150994944U);
  for (const Json& row : rows) {
    std::size_t sum = 0;
    for (const char* part : {"weights", "kv_allocated", "activations", "scratch", "other"})
      sum += row.at(std::string(part) + "_bytes").get<std::size_t>();
    EXPECT_EQ(row.at("total_bytes"), sum);
    EXPECT_TRUE(row.at("fits").is_boolean());
    EXPECT_TRUE(row.at("prefill_tokens_per_s").is_null());
    EXPECT_TRUE(row.at("decode_tokens_per_s").is_null());
  }
  EXPECT_GT(answer.at("machine").at("memory_bytes"), 0U);
}

TEST(Plan, SpeedsComeFromWhatIsMeasured) {
  const RunResult result = run_vitrine({"plan", "tiny-llama", "--context", "64", "--batch", "1,4", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_GT(answer.at("machine").at("measured").at("read_bytes_per_s"), 0.0);
  for (const Json& row : answer.at("rows")) {
    EXPECT_GT(row.at("prefill_tokens_per_s"), 0.0);
    EXPECT_GT(row.at("decode_tokens_per_s"), 0.0);
  }
}

// What run says that it took, field by field.
TEST(Plan, ForecastsWhatRunTakes) {
  const std::string model = data_path("models/llama").string();
  const Json row = plan({model, "--context", "64", "--threads", "2"}).at("rows").at(0);
  std::string ids = "1";
  for (int i = 1; i < 62; ++i)
    ids += ",1";
  const RunResult ran = run_vitrine(
      {"run", model, "--ids", ids, "-n", "2", "--ctx", "64", "--threads", "2", "--temperature", "0", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json memory = Json::parse(ran.out).at("memory");
  EXPECT_EQ(row.at("weights_bytes"), memory.at("weights_bytes"));
  EXPECT_EQ(row.at("activations_bytes"), memory.at("activations_bytes"));
  EXPECT_EQ(row.at("kv_allocated_bytes"), memory.at("kv_allocated_bytes"));
  EXPECT_GE(row.at("scratch_bytes"), memory.at("scratch_bytes"));
}

TEST(Plan, ShowHasTheRowOfTheModelsOwnContext) {
  const std::string model = data_path("models/llama").string();
  const RunResult shown = run_vitrine({"show", model, "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const Json all = Json::parse(shown.out);
  Json own = plan({model, "--context", all.at("context_length").dump()}).at("rows").at(0);
  Json row = all.at("plan");
  for (const char* moves_with_the_machine : {"fits", "max_context", "max_batch"}) {
    EXPECT_EQ(own.erase(moves_with_the_machine), 1U);
    EXPECT_EQ(row.erase(moves_with_the_machine), 1U);
  }
  EXPECT_EQ(row, own);
  const std::string text = run_vitrine({"show", model}).out;
  EXPECT_THAT(text, HasSubstr("KV cache = 1 sequence x"));
  EXPECT_LT(text.find("TENSOR"), text.find("KV BLOCKS"));
}

TEST(Plan, ShowSaysWhyThereIsNone) {
  const TempDir folder;
  std::filesystem::copy(data_path("models/llama"), folder.path() / "other", std::filesystem::copy_options::recursive);
  const std::filesystem::path config = folder.path() / "other" / "config.json";
  Json changed = Json::parse(std::ifstream(config));
  changed["architectures"] = {"OtherForCausalLM"};
  changed["model_type"] = "other";
  std::ofstream(config) << changed;
  const RunResult shown = run_vitrine({"show", (folder.path() / "other").string(), "--json"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_TRUE(Json::parse(shown.out).at("plan").is_null());
  EXPECT_THAT(shown.err, HasSubstr("no memory plan: "));
}

TEST(Plan, FlagsTakeThePlaceOfAShapesSizes) {
  const Json usual = plan({"gpt-4-estimate", "--context", "1024"}).at("rows").at(0);
  EXPECT_EQ(usual.at("kv_bytes"), 1024U * 120 * 16 * 256 * 2);
  const Json fewer =
      plan({"gpt-4-estimate", "--context", "1024", "--layers", "60", "--kv-heads", "8"}).at("rows").at(0);
  EXPECT_EQ(fewer.at("kv_bytes"), 1024U * 60 * 8 * 256 * 2);
  const Json narrow = plan({"deepseek-v3-mha", "--context", "4096", "--head-dim", "128"}).at("rows").at(0);
  EXPECT_EQ(narrow.at("kv_bytes"), 16374562816U);
}

TEST(Plan, PeopleAreToldWhyTheCopiedFormulaIsWrong) {
  const RunResult result = run_vitrine({"plan", "gemma-3-270m", "--window", "512", "--no-measure"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* text : {"CONTEXT", "windowed layers", "multi-query attention", "times as much", "MOST USERS"})
    EXPECT_THAT(result.out, HasSubstr(text));
}

TEST(Plan, PicturesNeedNothingElse) {
  const TempDir folder;
  const std::string html = (folder.path() / "plan.html").string();
  const std::string svg = (folder.path() / "plan.svg").string();
  plan({"llama-3.2-1b", "--kv-type", "f16,q8_0", "--html", html, "--svg", svg});
  EXPECT_THAT(read_file(html), HasSubstr("</svg>\n</figure>\n<figure>"));
  EXPECT_THAT(read_file(html), HasSubstr("grouped-query attention"));
  EXPECT_THAT(read_file(svg), HasSubstr("<svg class=\"p\" xmlns="));
}

// A repository's plan is that of the model once it has been pulled.
TEST(Plan, ARepositoryIsPlannedFromItsHeaders) {
  namespace fs = std::filesystem;
  const TempDir folder;
  const TempDir home;
  fs::create_directories(folder.path() / "org/one");
  fs::create_directories(folder.path() / "org/many");
  const std::string gguf = (folder.path() / "org/one/model-Q8_0.gguf").string();
  ASSERT_EQ(run_vitrine({"synth", "--shape", "tiny-llama", "--type", "q8_0", "-o", gguf}).exit_code, 0);
  for (const fs::directory_entry& file : fs::directory_iterator(data_path("models/llama_sharded")))
    fs::copy(file.path(), folder.path() / "org/many" / file.path().filename());
  const FakeHub hub(folder.path().string());
  for (const auto& [spec, path] : {std::pair("hf:org/one:model-Q8_0.gguf", gguf),
                                   std::pair("hf:org/many", (folder.path() / "org/many").string())}) {
    const std::vector<std::string> words = {"--json", "--no-measure", "--context", "64", "--batch", "1,4"};
    std::vector<std::string> remote = {"plan", spec};
    remote.insert(remote.end(), words.begin(), words.end());
    const RunResult result = run_vitrine(remote, {"HF_ENDPOINT=" + hub.url(), "VITRINE_HOME=" + home.path().string()});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json answer = Json::parse(result.out);
    EXPECT_EQ(answer["model"]["name"], spec);
    EXPECT_THAT(answer["model"]["weights"], HasSubstr("headers alone"));
    const Json local = plan({path, "--context", "64", "--batch", "1,4"});
    ASSERT_EQ(answer["rows"].size(), local["rows"].size());
    for (std::size_t i = 0; i < local["rows"].size(); ++i) {
      for (const char* field : {"weights_bytes", "kv_bytes", "kv_allocated_bytes", "activations_bytes", "scratch_bytes",
                                "other_bytes", "total_bytes"})
        EXPECT_EQ(answer["rows"][i][field], local["rows"][i][field]) << spec << " " << field;
    }
    EXPECT_TRUE(fs::is_empty(home.path()) || !fs::exists(home.path() / "models"));
  }
}

TEST(Plan, WhatIsWrongIsToldInALine) {
  expect_refusal(run_vitrine({"plan", "llama-3.1-8x"}), 66, "llama-3.1-8b");
  expect_refusal(run_vitrine({"plan", "hf:some/where", "--no-measure"}, {"HF_ENDPOINT=http://127.0.0.1:9"}), 69,
                 "http://127.0.0.1:9");
  expect_refusal(run_vitrine({"plan", "hf:some/where", "--layers", "3"}), 64, "states its own sizes");
  expect_refusal(run_vitrine({"plan", "gpt2", "--kv-type", "f17"}), 64, "--kv-type f17");
  expect_refusal(run_vitrine({"plan", "gpt2", "--type", "q9"}), 64, "q4_k_m");
  expect_refusal(run_vitrine({"plan", "gpt2", "--heads", "7"}), 64, "--kv-heads");
  expect_refusal(run_vitrine({"plan", "gpt2", "--experts", "4"}), 64, "--expert-size");
  expect_refusal(run_vitrine({"plan", data_path("models/llama").string(), "--layers", "3"}), 64, "--layers");
  expect_refusal(run_vitrine({"plan", "deepseek-v3-mha", "--context", "1073741824"}), 64, "context: longer");
}

}  // namespace
}  // namespace vitrine::testing
