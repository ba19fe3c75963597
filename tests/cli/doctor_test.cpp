// `vitrine doctor`: a model on disk. Servers are in tests/api, the checks themselves in tests/tools.

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/chat_model.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Json checks_of(const RunResult& result) {
  Json by_name = Json::object();
  const Json report = Json::parse(result.out);
  for (const Json& check : report.at("checks"))
    by_name[check.at("name").get<std::string>()] = check;
  return by_name;
}

TEST(Doctor, AModelFolderIsReadAndComputed) {
  const ChatModel model;
  const RunResult result = run_vitrine({"doctor", model.path(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const Json checks = checks_of(result);
  for (const char* name : {"file", "tokenizer", "chat_template", "weights", "self_check"})
    EXPECT_EQ(checks.at(name).at("status"), "ok") << checks.at(name);
  EXPECT_THAT(checks.at("self_check").at("detail").get<std::string>(), HasSubstr("divergence"));
  EXPECT_THAT(checks.at("bandwidth").at("detail").get<std::string>(), HasSubstr("GB/s"));
}

TEST(Doctor, WithoutMeasuringNothingIsComputed) {
  const ChatModel model;
  const RunResult result = run_vitrine({"doctor", model.path(), "--no-measure", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(checks_of(result).at("self_check").at("detail"), "left out");
  EXPECT_FALSE(checks_of(result).contains("bandwidth"));
}

TEST(Doctor, ABrokenTemplateIs65) {
  const ChatModel model;
  const std::filesystem::path config = std::filesystem::path(model.path()) / "tokenizer_config.json";
  ASSERT_TRUE(std::filesystem::exists(config));
  Json json = Json::parse(std::ifstream(config));
  json["chat_template"] = "{% if %}";
  std::ofstream(config) << json;
  const RunResult result = run_vitrine({"doctor", model.path(), "--no-measure", "--json"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(checks_of(result).at("chat_template").at("status"), "fail");
  EXPECT_THAT(checks_of(result).at("chat_template").at("fix").get<std::string>(), HasSubstr("--chat-template"));
}

TEST(Doctor, APersonReadsALineACheck) {
  const RunResult result = run_vitrine({"doctor", "--no-measure"}, {"VITRINE_ISA=generic"});
  ASSERT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("instruction_set"));
  EXPECT_THAT(result.out, HasSubstr("fix: "));
  EXPECT_THAT(result.out, HasSubstr("0 failed"));
  const RunResult none = run_vitrine({"doctor", "no-such-model", "--no-measure"});
  EXPECT_EQ(none.exit_code, 66);
  EXPECT_THAT(none.out, HasSubstr("fail  file"));
}

}  // namespace
}  // namespace vitrine::testing
