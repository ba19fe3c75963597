#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/temp_dir.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

TEST(Synth, WhatItWritesRunsAndIsMeasured) {
  const TempDir folder;
  for (const std::string shape : {"tiny-llama", "tiny-moe"}) {
    const std::string file = (folder.path() / (shape + ".gguf")).string();
    const RunResult made = run_vitrine({"synth", "--shape", shape, "--type", "q4_k_m", "-o", file, "--json"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Json answer = Json::parse(made.out);
    EXPECT_EQ(answer.at("file"), file);
    EXPECT_EQ(answer.at("bytes").get<std::uintmax_t>(), std::filesystem::file_size(file));

    const RunResult ran = run_vitrine({"run", file, "--ids", "5,6,7", "-n", "4", "--temperature", "0", "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(Json::parse(ran.out).at("token_ids").size(), 4U) << ran.out;

    const RunResult measured = run_vitrine({"bench", "model", file, "-p", "16", "-n", "4", "-r", "1", "--json"});
    ASSERT_EQ(measured.exit_code, 0) << measured.err;
    EXPECT_EQ(Json::parse(measured.out).at("results").size(), 2U);
  }
}

TEST(Synth, AnUnknownShapeOrTypeIsToldTheKnownOnes) {
  const TempDir folder;
  const std::string file = (folder.path() / "model.gguf").string();
  const RunResult shape = run_vitrine({"synth", "--shape", "gpt-9", "-o", file});
  EXPECT_EQ(shape.exit_code, 64);
  EXPECT_THAT(shape.err, HasSubstr("llama-3.2-1b"));
  const RunResult type = run_vitrine({"synth", "--shape", "tiny-llama", "--type", "q9", "-o", file});
  EXPECT_EQ(type.exit_code, 64);
  EXPECT_THAT(type.err, HasSubstr("q4_k_m"));
}

TEST(Synth, FewerLayersKeepTheWidth) {
  const TempDir folder;
  const std::string file = (folder.path() / "model.gguf").string();
  ASSERT_EQ(run_vitrine({"synth", "--shape", "tiny-moe", "--type", "q8_0", "--layers", "1", "-o", file}).exit_code, 0);
  const RunResult shown = run_vitrine({"show", file, "--json"});
  EXPECT_THAT(shown.out, HasSubstr("blk.0.ffn_up_exps.weight"));
  EXPECT_THAT(shown.out, Not(HasSubstr("blk.1.")));
}

TEST(Synth, AFileIsReplacedOnlyWhenAskedTo) {
  const TempDir folder;
  const std::string file = (folder.path() / "model.gguf").string();
  const std::vector<std::string> words = {"synth", "--shape", "tiny-llama", "--type", "q8_0", "-o", file};
  EXPECT_EQ(run_vitrine(words).exit_code, 0);
  const RunResult again = run_vitrine(words);
  EXPECT_EQ(again.exit_code, 64);
  EXPECT_THAT(again.err, HasSubstr("--yes"));
  std::vector<std::string> with_yes = words;
  with_yes.emplace_back("--yes");
  EXPECT_EQ(run_vitrine(with_yes).exit_code, 0);
}

}  // namespace
}  // namespace vitrine::testing
