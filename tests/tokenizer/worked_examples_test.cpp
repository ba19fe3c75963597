#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/reference_data.h"
#include "tokenizer/tokenizer_files.h"

// The figures that docs/tokens.md states.
namespace vitrine::tokenizer {
namespace {

std::vector<std::string> bytes_of_tokens(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> result;
  for (const TokenId id : tokenizer.encode(text, {}).value_or_throw())
    result.push_back(tokenizer.token_bytes(id));
  return result;
}

TEST(WorkedExamples, AChineseRequestTakesNineTokensOfGpt4AndFiveOfDeepSeek) {
  const Tokenizer* gpt4 = testing::shared_tokenizer("tiktoken_cl100k_base");
  const Tokenizer* deepseek = testing::shared_tokenizer("deepseek_v3");
  if (gpt4 == nullptr || deepseek == nullptr) VT_SKIP_WITHOUT("tiktoken_cl100k_base and deepseek_v3");
  constexpr std::string_view kText = "请帮我分析这段代码";
  EXPECT_EQ(bytes_of_tokens(*gpt4, kText),
            (std::vector<std::string>{"请", "\xE5\xB8", "\xAE", "我", "分", "析", "这", "段", "代码"}));
  EXPECT_EQ(bytes_of_tokens(*deepseek, kText), (std::vector<std::string>{"请", "帮我", "分析", "这段", "代码"}));
}

TEST(WorkedExamples, AMixedRequestTakesThirtyOneTokensOfGpt4) {
  const Tokenizer* gpt4 = testing::shared_tokenizer("tiktoken_cl100k_base");
  const Tokenizer* deepseek = testing::shared_tokenizer("deepseek_v3");
  if (gpt4 == nullptr || deepseek == nullptr) VT_SKIP_WITHOUT("tiktoken_cl100k_base and deepseek_v3");
  constexpr std::string_view kText = "请帮我优化这段 TypeScript 代码的性能，要求在 100ms 内处理 10 万条 JSON 数据";
  EXPECT_EQ(bytes_of_tokens(*gpt4, kText).size(), 31U);
  EXPECT_EQ(bytes_of_tokens(*deepseek, kText).size(), 25U);
}

TEST(WorkedExamples, WordsOfGpt2) {
  const Tokenizer* gpt2 = testing::shared_tokenizer("tiktoken_r50k_base");
  if (gpt2 == nullptr) VT_SKIP_WITHOUT("tiktoken_r50k_base");
  EXPECT_EQ(bytes_of_tokens(*gpt2, "smart"), (std::vector<std::string>{"smart"}));
  EXPECT_EQ(bytes_of_tokens(*gpt2, "smarter"), (std::vector<std::string>{"sm", "arter"}));
  EXPECT_EQ(bytes_of_tokens(*gpt2, "token"), (std::vector<std::string>{"token"}));
  EXPECT_EQ(bytes_of_tokens(*gpt2, "tokenization"), (std::vector<std::string>{"token", "ization"}));
}

}  // namespace
}  // namespace vitrine::tokenizer
