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

TEST_F(ServeConfig, ATableOfAModelCountsBeforeWhatCountsForAll) {
  const RunResult result = check("model = ['a=" + tiny() + "', 'b=" + tiny() +
                                 "']\nctx = 48\nkeep-alive = 60\n[models.b]\nctx = 32\nkv-type = 'f32'\npin = true\n"
                                 "alias = ['small', 'mini']\nmax-queue = 3\nkeep-alive = 5\nprefix-cache = 'off'\n"
                                 "parallel = 2\n[models.'c-1.5']\npath = '" +
                                 tiny() + "'\nkv-memory = '1MiB'\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto models = nlohmann::json::parse(result.out).at("models");
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0]["context_length"], 48);
  EXPECT_EQ(models[0]["kv_type"], "f16");
  EXPECT_EQ(models[0]["prefix_cache"], "exact");
  EXPECT_EQ(models[0]["keep_alive_s"], 60);
  EXPECT_EQ(models[0]["max_queue"], 1024);
  EXPECT_EQ(models[1]["context_length"], 32);
  EXPECT_EQ(models[1]["kv_type"], "f32");
  EXPECT_EQ(models[1]["pinned"], true);
  EXPECT_EQ(models[1]["aliases"], nlohmann::json({"small", "mini"}));
  EXPECT_EQ(models[1]["max_queue"], 3);
  EXPECT_EQ(models[1]["keep_alive_s"], 5);
  EXPECT_EQ(models[1]["prefix_cache"], "off");
  EXPECT_EQ(models[1]["max_sequences"], 2);
  EXPECT_EQ(models[2]["name"], "c-1.5");
  EXPECT_EQ(models[2]["kv_memory"], "1MiB");
  EXPECT_EQ(models[2]["context_length"], 48);
}

TEST_F(ServeConfig, TablesAloneNameTheModelsAndTheCommandLineCountsInTheirPlace) {
  const std::string settings = "[models.only]\nmodel = '" + tiny() + "'\nkv-type = 'f32'\n";
  const auto only = model(check(settings, {"--ctx", "16"}));
  EXPECT_EQ(only["name"], "only");
  EXPECT_EQ(only["context_length"], 16) << "a flag counts for all models";
  EXPECT_EQ(only["kv_type"], "f32");
  const auto other = model(check(settings, {"only=" + tiny(), "--models", "only.max-sequences=5"}));
  EXPECT_EQ(other["max_sequences"], 5);
  EXPECT_EQ(other["kv_type"], "f16") << "as with every flag, the file's are left out";
}

TEST_F(ServeConfig, TheCheckSaysWhatEachModelWillGet) {
  folder_.write("serve.toml", "[models.only]\nmodel = '" + tiny() + "'\nctx = 32\nkeep-alive = 9\n");
  const RunResult result = testing::run_vitrine({"serve", "--check", "--config", file()},
                                                {"VITRINE_STATE=" + (folder_.path() / "state").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("only: context 32 tokens"));
  EXPECT_THAT(result.out, HasSubstr("KV cache f16, prefix cache exact; 32 answers at once, 1024 may wait"));
  EXPECT_THAT(result.out, HasSubstr("; unloaded after 9 s"));
}

TEST_F(ServeConfig, WhatIsWrongInATableOfAModelIsRefusedWithItsPlace) {
  const auto refusal = [&](const std::string& rows, int exit_code = 78) {
    const RunResult result = check("model = 'a=" + tiny() + "'\n" + rows);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return result.err;
  };
  EXPECT_THAT(refusal("[models.a]\nkv_type = 'f32'\n"),
              HasSubstr("serve.toml: --models a.kv_type: no such setting; did you mean kv-type?"));
  EXPECT_THAT(refusal("[models.a]\nport = 80\n"), HasSubstr("--models a.port: no such setting"));
  EXPECT_THAT(refusal("[models.a]\nctx = 0\n"), HasSubstr("serve.toml: --models a.ctx: "));
  EXPECT_THAT(refusal("[models.a]\nprefix-cache = 'sometimes'\n"), HasSubstr("use exact, fast or off"));
  EXPECT_THAT(refusal("[models.a]\npin = 'perhaps'\n"), HasSubstr("--models a.pin: perhaps: must be true or false"));
  EXPECT_THAT(refusal("[models.b]\nctx = 16\n", 64), HasSubstr("--models b: there is no model b, but a"));
  const std::string b = "[models.b]\npath = '" + tiny() + "'\n";
  EXPECT_THAT(refusal(b + "kv-type = 'q8_0'\n", 64), HasSubstr("vitrine: b: --kv-type q8_0: "));
  EXPECT_THAT(refusal(b + "kv-layout = 'contiguous'\nprefix-cache = 'fast'\n", 64),
              HasSubstr("vitrine: b: --kv-layout contiguous: there is nothing to share"));
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
