#include "sampling/parameter_table.h"

#include <cmath>
#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine::sampling {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kVocabSize = 100;

std::string refusal(const SamplingParams& params) {
  const auto checked = validate(params, kVocabSize);
  return checked ? "" : checked.error().message;
}

TEST(ParameterTable, DefaultsAreValidAndCallForNoAdvice) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(advice({}), IsEmpty());
}

TEST(ParameterTable, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const ParameterRow& row : parameter_rows()) {
    EXPECT_TRUE(names.insert(row.field).second) << row.field;
    EXPECT_EQ(find_parameter(row.field), &row);
    for (const std::string_view alias : row.aliases) {
      if (alias.empty()) continue;
      EXPECT_TRUE(names.insert(alias).second) << alias;
      EXPECT_EQ(find_parameter(alias), &row);
    }
    EXPECT_FALSE(row.help.empty()) << row.field;
  }
  EXPECT_EQ(find_parameter("n_discard"), nullptr);
  EXPECT_EQ(find_parameter(""), nullptr);
}

TEST(ParameterTable, EveryDefaultLiesInItsRange) {
  for (const ParameterRow& row : parameter_rows()) {
    const auto value = row.default_value();
    if (!value) continue;
    EXPECT_GE(*value, row.min) << row.field;
    EXPECT_LE(*value, row.max) << row.field;
  }
}

TEST(ParameterTable, EveryRowTakesItsBoundsAndNothingBeyond) {
  for (const ParameterRow& row : parameter_rows()) {
    if (row.is_flag() || row.field == "seed") continue;
    SamplingParams params;
    params.logprobs = true;
    EXPECT_TRUE(set_parameter(params, row, ParameterValue(row.min))) << row.field;
    EXPECT_EQ(refusal(params), "") << row.field;
    EXPECT_TRUE(set_parameter(params, row, ParameterValue(row.max))) << row.field;
    EXPECT_EQ(refusal(params), "") << row.field;
    for (const double beyond :
         {row.min - 1, row.max + 1, 1e308, -1e308, std::nan(""), std::numeric_limits<double>::infinity()}) {
      const auto checked = set_parameter(params, row, ParameterValue(beyond));
      ASSERT_FALSE(checked) << row.field << " " << beyond;
      EXPECT_THAT(checked.error().message, HasSubstr(std::string(row.field)));
      EXPECT_THAT(checked.error().message, HasSubstr(row.range()));
    }
  }
}

TEST(ParameterTable, ValuesReadBackAsTheyWereSet) {
  SamplingParams params;
  ASSERT_TRUE(set_parameter(params, *find_parameter("top_k"), "40"));
  ASSERT_TRUE(set_parameter(params, *find_parameter("temp"), "0.5"));
  ASSERT_TRUE(set_parameter(params, *find_parameter("logprobs"), "true"));
  EXPECT_EQ(params.top_k, 40);
  EXPECT_EQ(params.temperature, 0.5F);
  EXPECT_TRUE(params.logprobs);
  EXPECT_EQ(find_parameter("top_k")->value(params), 40.0);
}

TEST(ParameterTable, WrongKindsAreRefused) {
  SamplingParams params;
  EXPECT_FALSE(set_parameter(params, *find_parameter("top_k"), ParameterValue(1.5)));
  EXPECT_FALSE(set_parameter(params, *find_parameter("top_k"), ParameterValue(true)));
  EXPECT_FALSE(set_parameter(params, *find_parameter("logprobs"), ParameterValue(std::int64_t{1})));
  for (const std::string_view text : {"", "x", "4x", " 4", "0x10", "1e"}) {
    EXPECT_FALSE(set_parameter(params, *find_parameter("top_k"), text)) << text;
    EXPECT_FALSE(set_parameter(params, *find_parameter("top_p"), text)) << text;
  }
  EXPECT_EQ(params.top_k, 0);
}

TEST(ParameterTable, AnyIntegerOf64BitsIsASeed) {
  SamplingParams params;
  const ParameterRow& seed = *find_parameter("seed");
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    ASSERT_TRUE(set_parameter(params, seed, ParameterValue(value)));
    EXPECT_EQ(params.seed, static_cast<std::uint64_t>(value));
    EXPECT_EQ(refusal(params), "");
  }
  EXPECT_FALSE(set_parameter(params, seed, ParameterValue(1.5)));
  EXPECT_FALSE(set_parameter(params, seed, ParameterValue(1e300)));
}

TEST(ParameterTable, FlagsAreTheFieldsWithDashes) {
  EXPECT_EQ(find_parameter("temperature")->flags(), "--temperature,--temp");
  EXPECT_EQ(find_parameter("dry_penalty_last_n")->flags(), "--dry-penalty-last-n");
}

TEST(Validate, NamesTheFieldAndTheRange) {
  SamplingParams params;
  params.temperature = -1;
  EXPECT_EQ(refusal(params), "temperature: -1 is not allowed; it must be a number from 0 to 2");
  params.temperature = std::nanf("");
  EXPECT_THAT(refusal(params), HasSubstr("temperature: nan"));
}

TEST(Validate, RefusesBiasesOutsideTheVocabularyOrTheRange) {
  SamplingParams params;
  params.logit_bias = {{99, -100.0F}};
  EXPECT_EQ(refusal(params), "");
  params.logit_bias = {{100, 1.0F}};
  EXPECT_EQ(refusal(params), "logit_bias: token 100 is not in the vocabulary; ids go from 0 to 99");
  params.logit_bias = {{-1, 1.0F}};
  EXPECT_THAT(refusal(params), HasSubstr("logit_bias: token -1"));
  params.logit_bias = {{1, 101.0F}};
  EXPECT_THAT(refusal(params), HasSubstr("from -100 to 100"));
  params.logit_bias = {{1, std::nanf("")}};
  EXPECT_THAT(refusal(params), HasSubstr("logit_bias: nan"));
  params.logit_bias.assign(2000, {1, 1.0F});
  EXPECT_THAT(refusal(params), HasSubstr("at most 1024"));
}

TEST(Validate, RefusesTopLogprobsWithoutLogprobs) {
  SamplingParams params;
  params.top_logprobs = 3;
  EXPECT_THAT(refusal(params), HasSubstr("top_logprobs"));
  params.logprobs = true;
  EXPECT_EQ(refusal(params), "");
  params.top_logprobs = 1000000;
  EXPECT_THAT(refusal(params), HasSubstr("an integer from 0 to 20"));
}

TEST(Validate, RefusesBadBreakers) {
  SamplingParams params;
  params.dry_sequence_breakers = {{}};
  EXPECT_THAT(refusal(params), HasSubstr("dry_sequence_breakers"));
  params.dry_sequence_breakers = {{5, 100}};
  EXPECT_THAT(refusal(params), HasSubstr("token 100"));
  params.dry_sequence_breakers.assign(65, {1});
  EXPECT_THAT(refusal(params), HasSubstr("at most 64"));
}

std::string only_advice(const SamplingParams& params) {
  const std::vector<std::string> lines = advice(params);
  EXPECT_EQ(lines.size(), 1U);
  return lines.empty() ? "" : lines.front();
}

TEST(Advice, GreedyMakesTheOtherSettingsIdle) {
  SamplingParams params;
  params.temperature = 0;
  EXPECT_THAT(advice(params), IsEmpty());
  params.top_p = 0.9F;
  params.seed = 1;
  EXPECT_EQ(only_advice(params), "temperature 0 always takes the most probable token: top_p, seed has no effect");
}

TEST(Advice, TopKAndTopPBothCut) {
  SamplingParams params;
  params.top_k = 40;
  params.top_p = 0.9F;
  EXPECT_THAT(only_advice(params), HasSubstr("top_k 40 and top_p 0.9"));
  params.temperature = 0.7F;
  EXPECT_THAT(only_advice(params), HasSubstr("change one at a time"));
}

TEST(Advice, SettingsWithoutTheirSwitchAreNamed) {
  SamplingParams params;
  params.dry_base = 2;
  params.xtc_threshold = 0.2F;
  params.repeat_last_n = 64;
  EXPECT_EQ(advice(params).size(), 3U);
}

TEST(Advice, PenaltiesOverNoWindowAreIdle) {
  SamplingParams params;
  params.repetition_penalty = 1.1F;
  params.repeat_last_n = 0;
  EXPECT_EQ(only_advice(params), "repeat_last_n 0 looks at no token: repetition_penalty has no effect");
}

}  // namespace
}  // namespace vitrine::sampling
