#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/reference_data.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int kTinyLayers = 3;
std::string tiny_model() {
  return data_path("models/llama").string();
}

TEST(Bench, ModelMeasuresEveryCaseAsOftenAsAsked) {
  const RunResult result = run_vitrine({"bench", "model", tiny_model(), "-p", "8,20", "-n", "4", "--depth", "0,16",
                                        "--batch", "1,3", "-r", "2", "--chunk", "7", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  std::vector<std::string> cases;
  for (const Json& row : answer.at("results")) {
    cases.push_back(row.at("phase").get<std::string>() + " " + row.at("tokens").dump() + " " + row.at("depth").dump() +
                    " " + row.at("batch").dump());
    EXPECT_EQ(row.at("tokens_per_s_runs").size(), 2U);
    EXPECT_GT(row.at("tokens_per_s").get<double>(), 0.0);
    EXPECT_EQ(row.at("roof_share").is_null(), row.at("phase") == "prefill");
  }
  EXPECT_THAT(cases, ::testing::ElementsAre("prefill 8 0 1", "prefill 20 0 1", "decode 4 0 1", "prefill 8 16 1",
                                            "prefill 20 16 1", "decode 4 16 1", "prefill 8 0 3", "prefill 20 0 3",
                                            "decode 4 0 3", "prefill 8 16 3", "prefill 20 16 3", "decode 4 16 3"));
  EXPECT_GT(answer.at("machine").at("num_cpus").get<int>(), 0);
  EXPECT_GT(answer.at("model").at("weight_bytes").get<int>(), 0);
}

TEST(Bench, OpsSayWhereTheTimeOfAPassWent) {
  const RunResult result = run_vitrine({"bench", "model", tiny_model(), "-p", "16", "-n", "4", "--batch", "2", "-r",
                                        "2", "--chunk", "7", "--ops", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  const auto num_layers = static_cast<double>(kTinyLayers);
  for (const Json& row : answer.at("results")) {
    const Json& ops = row.at("ops");
    // A prompt of 16 tokens takes three chunks of at most 7 rows, a step of decoding one pass for both sequences.
    const bool is_decode = row.at("phase") == "decode";
    const double passes = is_decode ? 1.0 : 3.0;
    double seconds = ops.at("between_s").get<double>();
    std::map<std::string, double> calls;
    for (const Json& op : ops.at("rows")) {
      seconds += op.at("seconds").get<double>();
      calls[op.at("section").get<std::string>() + " " + op.at("op").get<std::string>()] = op.at("calls").get<double>();
    }
    EXPECT_NEAR(seconds, ops.at("pass_s").get<double>(), 1e-9);
    EXPECT_EQ(calls["embedding embed"], passes);
    EXPECT_EQ(calls["qkv matmul"], num_layers * passes);
    EXPECT_EQ(calls["attention attention"], num_layers * passes);
    EXPECT_EQ(calls["down matmul"], num_layers * passes);
    // Logits of the last row of a prompt and of every generated row; no norm that they do not need.
    EXPECT_EQ(calls["head matmul"], 1.0);
    EXPECT_EQ(calls["head rms_norm"], 1.0);
  }
}

TEST(Bench, OpsAreATableForPeople) {
  const RunResult result = run_vitrine({"bench", "model", tiny_model(), "-p", "8", "-n", "0", "-r", "1", "--ops"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* word : {"prefill of 8 tokens at depth 0", "gate_up", "activate_and_multiply", "OF ROOF", "between"})
    EXPECT_THAT(result.out, HasSubstr(word));
}

TEST(Bench, ACaseLongerThanTheContextIsRefusedWithBothNumbers) {
  const RunResult result = run_vitrine({"bench", "model", tiny_model(), "-p", "100000", "-n", "0"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("100000"));
}

TEST(Bench, NothingToMeasureIsRefused) {
  const RunResult result = run_vitrine({"bench", "model", tiny_model(), "-p", "0", "-n", "0"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("nothing to measure"));
}

TEST(Bench, MachineReadsMemoryAtSeveralSizes) {
  const RunResult result = run_vitrine({"bench", "machine", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  ASSERT_GE(answer.at("reads").size(), 3U);
  for (const Json& row : answer.at("reads"))
    EXPECT_GT(row.at("bytes_per_s").get<double>(), 1e8);
}

TEST(Bench, AWordThatIsNoBenchNamesTheNearestOne) {
  const RunResult result = run_vitrine({"bench", "modle"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("did you mean model?"));
}

TEST(Bench, KernelsAreHeldAgainstTheRoof) {
  const RunResult result = run_vitrine({"bench", "kernels", "--type", "q4_0,bf16", "--rows", "1,9", "--outputs", "48",
                                        "--inputs", "512", "--threads", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  for (const Json& peak : answer.at("machine").at("peaks"))
    EXPECT_GT(peak.at("ops_per_s").get<double>(), 0.0);
  std::vector<std::string> generated;
  for (const Json& row : answer.at("results")) {
    EXPECT_EQ(row.at("n"), 48);
    EXPECT_EQ(row.at("k"), 512);
    EXPECT_GT(row.at("roof_share").get<double>(), 0.0);
    const double ops = 2.0 * row.at("m").get<double>() * 48 * 512;
    EXPECT_NEAR(row.at("tops").get<double>() * 1e12 * row.at("seconds").get<double>(), ops, 1e-6 * ops);
    if (row.at("kernel") == "product generated")
      generated.push_back(row.at("type").get<std::string>() + " " + row.at("m").dump());
  }
  EXPECT_THAT(generated, ::testing::ElementsAre("q4_0 1", "q4_0 9", "bf16 1", "bf16 9"));
  expect_refusal(run_vitrine({"bench", "kernels", "--type", "q9"}), 64, "--type q9: no such type");
  expect_refusal(run_vitrine({"bench", "kernels", "--inputs", "100"}), 64, "not a multiple of 256");
}

}  // namespace
}  // namespace vitrine::testing
