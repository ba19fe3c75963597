#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/chat_model.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tools/lab/lab.h"
#include "vitrine/lab_progress.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(LabCommand, AloneListsTheLabs) {
  const RunResult list = run_vitrine({"lab"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  const Json answer = Json::parse(run_vitrine({"lab", "--json"}).out);
  ASSERT_EQ(answer.at("labs").size(), lab::labs().size());
  for (const lab::Lab& item : lab::labs()) {
    EXPECT_THAT(list.out, HasSubstr(std::string(item.name)));
    EXPECT_THAT(list.out, HasSubstr(std::string(item.about)));
  }
}

TEST(LabCommand, AllRunsEachAndWritesItsFiles) {
  const ChatModel model;
  const TempDir home;
  const TempDir folder;
  const std::string out = (folder.path() / "labs" / "today").string();
  const RunResult result =
      run_vitrine({"lab", "all", model.path(), "--quick", "--quiet", "--json", "--out", out, "--threads", "2"},
                  {"VITRINE_HOME=" + home.path().string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const Json answer = Json::parse(result.out);
  ASSERT_EQ(answer.at("labs").size(), lab::labs().size());
  EXPECT_EQ(answer.at("machine").at("threads"), 2);
  for (std::size_t i = 0; i < lab::labs().size(); ++i) {
    const std::string name(lab::labs()[i].name);
    const Json& report = answer.at("labs").at(i);
    EXPECT_EQ(report.at("name"), name);
    EXPECT_FALSE(report.at("rows").empty());
    EXPECT_NE(report.at("conclusion"), "");
    const std::filesystem::path base = std::filesystem::path(out) / name;
    EXPECT_EQ(Json::parse(read_file(base.string() + ".json")), report);
    EXPECT_THAT(read_file(base.string() + ".md"), HasSubstr("Here: "));
    EXPECT_THAT(read_file(base.string() + ".html"), HasSubstr("<svg"));
    EXPECT_THAT(read_file(base.string() + ".svg"), HasSubstr("</svg>"));
  }
}

TEST(LabCommand, OneIsATableAndThreeLines) {
  const ChatModel model;
  const RunResult result = run_vitrine({"lab", "sampling", model.path(), "--quick"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* text :
       {"Temperature, top-k and top-p\n", "PERPLEXITY", "\nMeasured: ", "\nSaid everywhere: ", "\nHere: "})
    EXPECT_THAT(result.out, HasSubstr(text));
  const Json answer = Json::parse(run_vitrine({"lab", "sampling", model.path(), "--quick", "--json"}).out);
  EXPECT_EQ(answer.at("name"), "sampling");
  EXPECT_TRUE(answer.at("machine").is_object());
}

TEST(LabCommand, WhatIsWrongIsToldInALine) {
  expect_refusal(run_vitrine({"lab", "kv-cach"}), 64, "did you mean kv-cache?");
  expect_refusal(run_vitrine({"lab", "frobnicate"}), 64, "kv-cache");
  expect_refusal(run_vitrine({"lab", "sampling", "/no/such/model"}), 66, "/no/such/model");
  // The tiny model as it is published has a context of 128 tokens.
  expect_refusal(run_vitrine({"lab", "chunked-prefill", data_path("models/llama").string(), "--quiet"}), 64,
                 "too short");
}

TEST(LabProgress, ForecastsOnceSomethingIsDone) {
  EXPECT_EQ(cli::lab_progress_line("paged", 0.0, 1.0), "paged  [........................]    0 %");
  EXPECT_EQ(cli::lab_progress_line("paged", 0.5, 10.0), "paged  [############............]   50 %  10 s left");
  EXPECT_EQ(cli::lab_progress_line("paged", 2.0, 10.0), "paged  [########################]  100 %");
}

TEST(KvLayout, GivesTheSameAnswerContiguousAndPaged) {
  const std::string model = data_path("models/llama").string();
  const auto ids_of = [&](const std::string& layout) {
    const RunResult result = run_vitrine({"run", model, "--ids", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18", "-n",
                                          "20", "--seed", "7", "--json", "--kv-layout", layout});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out).at("token_ids");
  };
  EXPECT_EQ(ids_of("contiguous"), ids_of("paged"));
  expect_refusal(run_vitrine({"run", model, "--ids", "1", "--kv-layout", "square"}), 64, "--kv-layout square");
}

TEST(KvLayout, ContiguousSharesNothing) {
  const TempDir state;
  const std::string model = data_path("models/llama").string();
  expect_refusal(run_vitrine({"serve", model, "--check", "--kv-layout", "contiguous", "--prefix-cache", "exact"},
                             {"VITRINE_STATE=" + state.path().string()}),
                 64, "--prefix-cache exact");
  const RunResult checked =
      run_vitrine({"serve", model, "--check", "--kv-layout", "contiguous"}, {"VITRINE_STATE=" + state.path().string()});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

}  // namespace
}  // namespace vitrine::testing
