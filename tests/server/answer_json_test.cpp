#include "server/openai/answer_json.h"

#include <gtest/gtest.h>

#include "support/chat_model.h"
#include "support/reference_data.h"
#include "tools/open_model.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

class AnswerJson : public ::testing::Test {
 protected:
  testing::ChatModel files_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = tools::open_tokenizer(files_.path()).value_or_throw();
};

TEST_F(AnswerJson, EachScoreHasTokenLogprobBytesAndAListOfOthers_bug028) {
  const Json logprobs = chat_logprobs({{.id = 'a', .logprob = -0.5F, .top = {}}}, *tokenizer_);
  const Json& entry = logprobs["content"][0];
  EXPECT_EQ(entry["token"], "a");
  EXPECT_EQ(entry["logprob"], -0.5F);
  EXPECT_EQ(entry["bytes"], Json::array({97}));
  EXPECT_EQ(entry["top_logprobs"], Json::array());
  testing::count_cases("bugs", 1);
}

TEST_F(AnswerJson, ASpecialTokenIsShownByItsName_bug030) {
  const TokenScore score{.id = 'a', .logprob = -1.0F, .top = {{testing::ChatModel::kEndId, -2.0F}}};
  EXPECT_EQ(chat_logprobs({score}, *tokenizer_)["content"][0]["top_logprobs"][0]["token"], "<|im_end|>");
  testing::count_cases("bugs", 1);
}

TEST_F(AnswerJson, HalfACharacterIsShownAsReplacementButItsBytesAreTrue) {
  const Json entry = chat_logprobs({{.id = 0xC3, .logprob = 0.0F, .top = {}}}, *tokenizer_)["content"][0];
  EXPECT_EQ(entry["bytes"], Json::array({0xC3}));
  EXPECT_EQ(Json::parse(dump(entry))["token"], "\xEF\xBF\xBD");
}

TEST_F(AnswerJson, TextOffsetsCountCharacters) {
  std::size_t offset = 3;
  const std::vector<TokenScore> scores = {{.id = 0xC3, .logprob = 0.0F, .top = {}},
                                          {.id = 0xA9, .logprob = 0.0F, .top = {}},
                                          {.id = 'x', .logprob = 0.0F, .top = {}}};
  EXPECT_EQ(text_logprobs(scores, *tokenizer_, offset)["text_offset"], Json::array({3, 4, 4}));
  EXPECT_EQ(offset, 5U);
}

TEST(UsageJson, TotalsAddUp) {
  const Json usage = to_json(Usage{.prompt_tokens = 5, .completion_tokens = 7, .cached_tokens = 4});
  EXPECT_EQ(usage["total_tokens"], 12);
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 4);
}

TEST(EventJson, EndsWithAnEmptyLineAndHoldsNoOther) {
  EXPECT_EQ(to_event({{"a", "x\ny\v\f"}}), "data: {\"a\":\"x\\ny\\u000b\\f\"}\n\n");
}

}  // namespace
}  // namespace vitrine::server
