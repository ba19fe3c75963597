// prefill-decode, sampling and tokenizers: their conclusions from given rows, and the arithmetic of their figures.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_data.h"
#include "tools/lab/lab_bench.h"
#include "tools/lab/prefill_decode_lab.h"
#include "tools/lab/sampling_lab.h"
#include "tools/lab/tokenizers_lab.h"

namespace vitrine::lab {
namespace {

using ::testing::HasSubstr;

constexpr Roofs kRoofs = {.read_bytes_per_s = 10e9, .prompt_flops_per_s = 200e9, .generated_flops_per_s = 100e9};

RooflineRow roofline_row_of(bool is_prefill, std::size_t num_rows, double balance) {
  return {.is_prefill = is_prefill,
          .num_rows = num_rows,
          .step_s = 0.01,
          .flops = 1e9,
          .bytes = 1e8,
          .compute_share = 0.5,
          .memory_share = 0.5 / balance,
          .balance = clear(balance)};
}

std::vector<RooflineRow> roofline_rows(double prompt, double answer, double answers) {
  return {roofline_row_of(true, 16, 1.0), roofline_row_of(true, 512, prompt), roofline_row_of(false, 1, answer),
          roofline_row_of(false, 64, answers)};
}

TEST(PrefillDecodeConclusion, FollowsTheRows) {
  const Conclusion usual = conclude_prefill_decode(roofline_rows(8, 0.1, 3), kRoofs);
  EXPECT_EQ(usual.verdict, Verdict::kAsExpected);
  EXPECT_THAT(usual.text, HasSubstr("meet at 20 operations per byte for prompts and 10 for answers"));
  EXPECT_THAT(usual.text, HasSubstr("64 answers at once are bound by multiplying as well"));
  EXPECT_THAT(conclude_prefill_decode(roofline_rows(8, 0.1, 0.5), kRoofs).text, HasSubstr("up to 64 answers"));
  const Conclusion odd = conclude_prefill_decode(roofline_rows(8, 1.5, 3), kRoofs);
  EXPECT_EQ(odd.verdict, Verdict::kContradicts) << "a slow multiplier bounds even a single answer";
  EXPECT_THAT(odd.text, HasSubstr("(against what is said: less)"));
}

TEST(PrefillDecodeReport, FiguresAreThoseOfTheStep) {
  const Report report = prefill_decode_report(roofline_rows(8, 0.1, 3), kRoofs);
  expect_whole(report);
  const Json& row = report.rows[1];
  EXPECT_EQ(row.at("bound"), "compute");
  EXPECT_EQ(report.rows[2].at("bound"), "memory");
  EXPECT_EQ(report.rows[0].at("bound"), "both");
  EXPECT_DOUBLE_EQ(row.at("flops_per_byte"), 10.0);
  EXPECT_DOUBLE_EQ(row.at("flops_per_s"), 1e11);
  EXPECT_DOUBLE_EQ(row.at("bytes_per_s"), 1e10);
  EXPECT_DOUBLE_EQ(row.at("tokens_per_s"), 51200.0);
}

// The lab carries the example itself: the binary needs no file beside it.
TEST(WorkedExample, IsThePublishedOne) {
  const auto published = testing::read_json(testing::data_path("sampling/worked_example.json"));
  for (std::size_t i = 0; i < worked_logits().size(); ++i) {
    EXPECT_EQ(published.at("vocabulary").at(i), worked_tokens()[i]);
    EXPECT_FLOAT_EQ(published.at("logits").at(i), worked_logits()[i]);
  }
  const auto examples = worked_examples();
  const char* const keys[] = {"temperature_0.1", "temperature_1.0", "temperature_1.5"};
  for (std::size_t example = 0; example < 3; ++example) {
    for (std::size_t i = 0; i < worked_logits().size(); ++i)
      EXPECT_DOUBLE_EQ(published.at("softmax").at(keys[example]).at(i).at("prob"), examples[example].probabilities[i]);
  }
  for (std::size_t i = 0; i < worked_logits().size(); ++i)
    EXPECT_DOUBLE_EQ(published.at("top_p_0.8_temperature_1").at("rows").at(i).at("renormalised"),
                     examples[3].probabilities[i]);
}

TEST(WorkedExample, IsWhatTheSamplerMakesOfIt) {
  const auto rows = worked_rows();
  ASSERT_EQ(rows.size(), 4U);
  for (const SamplingRow& row : rows) {
    EXPECT_LT(*row.published_deviation, 1e-6) << row.setting;
    EXPECT_EQ(row.top_token, "是");
  }
  EXPECT_EQ(rows[1].num_kept, 5U);
  EXPECT_EQ(rows[3].num_kept, 3U);
  EXPECT_GT(rows[2].perplexity, rows[1].perplexity);
  EXPECT_NEAR(rows[0].perplexity, 1.0, 0.01);
}

SamplingRow model_row(float temperature, int top_k, float top_p, std::size_t kept, double perplexity, double distinct) {
  SamplingRow row;
  row.setting = "a setting";
  row.params.temperature = temperature;
  row.params.top_k = top_k;
  row.params.top_p = top_p;
  row.num_kept = kept;
  row.perplexity = perplexity;
  row.distinct_share = distinct;
  return row;
}

std::vector<SamplingRow> sampling_rows() {
  return {model_row(0, 0, 1, 1, 1, 0.04),   model_row(0.7F, 0, 1, 320, 5, 0.6),  model_row(1.5F, 0, 1, 320, 90, 1.0),
          model_row(1, 40, 1, 40, 10, 0.9), model_row(1, 0, 0.9F, 100, 12, 0.9), model_row(1, 40, 0.9F, 30, 9, 0.8)};
}

TEST(SamplingConclusion, FollowsTheRows) {
  const auto usual = sampling_rows();
  EXPECT_EQ(conclude_sampling(usual).verdict, Verdict::kAsExpected);
  EXPECT_THAT(conclude_sampling(usual).text, HasSubstr("4 % and 100 % of the answers differ"));
  auto flat = usual;
  flat[2].perplexity = 3;
  EXPECT_EQ(conclude_sampling(flat).verdict, Verdict::kContradicts);
  auto wide = usual;
  wide[5].num_kept = 41;
  EXPECT_EQ(conclude_sampling(wide).verdict, Verdict::kContradicts);
  auto off = usual;
  off[0].published_deviation = 0.01;
  EXPECT_THAT(conclude_sampling(off).text, HasSubstr("differs from what was published by 0.01"));
}

TEST(SamplingLab, GivesTheSameRowsEachTime) {
  TinyBench tiny;
  const SamplingOptions options{.num_answers = 5, .answer_tokens = 4};
  const Report report = run_sampling(tiny.bench(), options);
  EXPECT_EQ(report.rows, run_sampling(tiny.bench(), options).rows);
  EXPECT_EQ(report.rows.size(), 12U);
  EXPECT_EQ(report.rows[4].at("kept"), 1) << "temperature 0";
  EXPECT_DOUBLE_EQ(report.rows[4].at("distinct_share"), 0.2) << "all alike";
  EXPECT_EQ(report.rows[9].at("kept"), 40);
  EXPECT_LE(report.rows[11].at("kept"), 40);
}

TEST(SamplingLab, NeedsNoTokenizer) {
  TinyBench tiny;
  tiny.bench().tokenizer = nullptr;
  expect_whole(run_sampling(tiny.bench(), {.num_answers = 2, .answer_tokens = 2}));
}

std::vector<TokenizersRow> tokenizer_rows(std::size_t english, std::size_t chinese) {
  return {{.tokenizer = "a", .language = "English", .num_tokens = english, .num_chars = 200, .num_bytes = 200},
          {.tokenizer = "a",
           .language = "Chinese",
           .num_tokens = chinese,
           .num_chars = 60,
           .num_bytes = 180,
           .to_english = static_cast<double>(chinese) / static_cast<double>(english)}};
}

TEST(TokenizersConclusion, FollowsTheRows) {
  EXPECT_EQ(conclude_tokenizers(tokenizer_rows(50, 90)).verdict, Verdict::kAsExpected);
  EXPECT_THAT(conclude_tokenizers(tokenizer_rows(50, 90)).text, HasSubstr("1.8x the tokens: Chinese by a"));
  EXPECT_EQ(conclude_tokenizers(tokenizer_rows(50, 40)).verdict, Verdict::kContradicts);
  EXPECT_EQ(conclude_tokenizers(tokenizer_rows(200, 400)).verdict, Verdict::kContradicts) << "a token a letter";
  EXPECT_THAT(conclude_tokenizers(tokenizer_rows(200, 400)).text, HasSubstr("a (1.0)"));
}

TEST(TokenizersLab, CountsEveryTextAndNamesWhatCouldBePulled) {
  TinyBench tiny;
  const Report report = run_tokenizers(tiny.bench());
  ASSERT_EQ(report.rows.size(), lab_texts().size());
  for (const Json& row : report.rows)
    EXPECT_EQ(row.at("tokens"), row.at("bytes")) << "its tokens are bytes";
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_THAT(report.notes.front(), HasSubstr("tok:somewhere"));
  tiny.bench().tokenizers = {};
  EXPECT_THROW(run_tokenizers(tiny.bench()), base::Exception);
}

}  // namespace
}  // namespace vitrine::lab
