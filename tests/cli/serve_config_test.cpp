#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_vitrine.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"

namespace vitrine::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RunResult;

// `vitrine serve --check` with settings from a file.
class ServeConfig : public ::testing::Test {
 protected:
  RunResult check(const std::string& settings, std::vector<std::string> words = {},
                  std::vector<std::string> environment = {}) {
    folder_.write("serve.toml", settings);
    words.insert(words.begin(), {"serve", "--check", "--json", "--config", file()});
    environment.push_back("VITRINE_STATE=" + (folder_.path() / "state").string());
    return testing::run_vitrine(words, environment);
  }
  // The only model as it would be served.
  nlohmann::json model(const RunResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out).at("models").at(0);
  }
  std::string file() const { return (folder_.path() / "serve.toml").string(); }
  static std::string tiny() { return testing::data_path("models/llama").string(); }

  testing::TempDir folder_;
};

TEST_F(ServeConfig, TheCommandLineCountsBeforeTheEnvironmentAndThatBeforeTheFile) {
  const std::string settings = "model = '" + tiny() + "'\nctx = 48\nname = 'from-file'\n";
  EXPECT_EQ(model(check(settings)).at("context_length"), 48);
  EXPECT_EQ(model(check(settings)).at("name"), "from-file");
  const std::vector<std::string> environment = {"VITRINE_SERVE_CTX=32"};
  EXPECT_EQ(model(check(settings, {}, environment)).at("context_length"), 32);
  EXPECT_EQ(model(check(settings, {"--ctx-size", "16"}, environment)).at("context_length"), 16);
}

TEST_F(ServeConfig, ListsAndTablesAreSeveralValues) {
  const auto report = nlohmann::json::parse(
      check("model = ['a=" + tiny() + "', 'b=" + tiny() + "']\npin = ['b']\n[alias]\nsmall = 'a'\nlarge = 'b'\n").out);
  EXPECT_EQ(report.at("models").at(0).at("aliases"), nlohmann::json({"small"}));
  EXPECT_EQ(report.at("models").at(1).at("aliases"), nlohmann::json({"large"}));
  EXPECT_EQ(report.at("models").at(1).at("pinned"), true);
}

TEST_F(ServeConfig, ASettingThatIsNoneIsRefusedWithTheNearestOne) {
  const RunResult result = check("kv_memory = '1GiB'\n");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.err, HasSubstr("serve.toml: kv_memory: no such setting; did you mean kv-memory?"));
}

TEST_F(ServeConfig, AWrongValueIsRefusedWithWhereItStands) {
  const RunResult in_file = check("model = '" + tiny() + "'\nport = 'soon'\n");
  EXPECT_EQ(in_file.exit_code, 78);
  EXPECT_THAT(in_file.err, HasSubstr("serve.toml: "));
  EXPECT_THAT(in_file.err, HasSubstr("--port"));
  const RunResult in_environment = check("", {tiny()}, {"VITRINE_SERVE_PREFIX_CACHE=sometimes"});
  EXPECT_EQ(in_environment.exit_code, 78);
  EXPECT_THAT(in_environment.err, HasSubstr("VITRINE_SERVE_PREFIX_CACHE: "));
}

TEST_F(ServeConfig, AFileThatIsNoTomlIsRefusedWithItsLine) {
  const RunResult result = check("port = 1\nport = = 2\n");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.err, HasSubstr("serve.toml: line 2: "));
}

TEST_F(ServeConfig, PlansAreTablesOfLimits) {
  const RunResult result = check("model = '" + tiny() +
                                 "'\n[plans.free]\nrequests_per_minute = 20\nmodels = ['a', 'b']\n[plans.open]\n"
                                 "[plans.'team-1.b']\npriority = -3\ntokens_per_day = 'none'\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("plans"),
            nlohmann::json({{"free", {{"requests_per_minute", 20}, {"models", {"a", "b"}}}},
                            {"open", nlohmann::json::object()},
                            {"team-1.b", {{"priority", -3}}}}));
}

TEST_F(ServeConfig, WhatIsWrongInAPlanIsRefusedWithItsPlace) {
  const auto refusal = [&](const std::string& rows) {
    const RunResult result = check("model = '" + tiny() + "'\n" + rows);
    EXPECT_EQ(result.exit_code, 78);
    EXPECT_THAT(result.err, HasSubstr("serve.toml: "));
    return result.err;
  };
  EXPECT_THAT(refusal("[plans.free]\ntokens_per_dya = 5\n"),
              HasSubstr("--plans free.tokens_per_dya: no such setting; did you mean tokens_per_day?"));
  EXPECT_THAT(refusal("[plans.free]\ntokens_per_day = 'many'\n"),
              HasSubstr("--plans free.tokens_per_day many: give a whole number from 1"));
  EXPECT_THAT(refusal("[plans.free]\npriority = 500\n"), HasSubstr("--plans free: priority: must be from -100 to 100"));
  EXPECT_THAT(refusal("[plans.none]\n"), HasSubstr("--plans none: a plan's name is"));
  EXPECT_THAT(refusal("[plans]\nfree = 5\n"), HasSubstr("--plans free=5: write it as NAME.SETTING=VALUE"));
}

TEST_F(ServeConfig, AMissingFileIsMissing) {
  const RunResult result = testing::run_vitrine({"serve", "--check", "--config", "/nowhere/serve.toml"});
  EXPECT_EQ(result.exit_code, 66);
}

TEST_F(ServeConfig, OneNameForTwoModelsIsRefused) {
  const RunResult result = check("model = ['a=" + tiny() + "', 'a=" + tiny() + "']\n");
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("two models of that name"));
}

TEST_F(ServeConfig, AnAddressForOthersNeedsAKey) {
  const RunResult result = check("model = '" + tiny() + "'\nhost = '0.0.0.0'\n");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.err, HasSubstr("vitrine keys create"));
}

}  // namespace
}  // namespace vitrine::cli
