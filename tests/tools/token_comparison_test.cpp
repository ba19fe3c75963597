#include "tools/token_comparison.h"

#include <gtest/gtest.h>

namespace vitrine::tools {
namespace {

// Single bytes, "ab", the three bytes of U+4E2D and its first two.
constexpr const char* kTokens =
    "YQ== 0\nYg== 1\nIA== 2\nMQ== 3\nYWI= 4\n5Lit 5\n5Lg= 6\n5A== 7\nuA== 8\nrQ== 9\nlg== 10\nw6k= 11\nww== 12\nqQ== "
    "13\n";

TokenizedText measured(std::string_view text) {
  const auto tokenizer = tokenizer::Tokenizer::from_tiktoken(kTokens, "gpt2").value_or_throw();
  return tokenize_text(*tokenizer, text, {}).value_or_throw();
}

const ScriptCount& count_of(const TokenizedText& text, Script script) {
  return text.scripts[static_cast<std::size_t>(script)];
}

TEST(TokenComparison, EveryScriptHasItsCharactersAndItsTokens) {
  const TokenizedText text = measured("ab\u4E2D11\u00E9");
  EXPECT_EQ(text.num_tokens(), 5U);
  EXPECT_EQ(text.num_chars, 6U);
  EXPECT_EQ(text.num_bytes, 9U);
  EXPECT_DOUBLE_EQ(count_of(text, Script::kChinese).chars_per_token(), 1.0);
  EXPECT_DOUBLE_EQ(count_of(text, Script::kLatin).chars_per_token(), 1.5) << "ab is one token, \u00E9 another";
  EXPECT_DOUBLE_EQ(count_of(text, Script::kCode).chars_per_token(), 1.0);
  EXPECT_DOUBLE_EQ(count_of(text, Script::kOther).chars_per_token(), 0.0);
}

TEST(TokenComparison, TheTokensOfTheScriptsAreAllTokens) {
  for (const char* const text : {"ab 1", "\u4E2Da\u4E2D", "\u4E16", ""}) {
    const TokenizedText result = measured(text);
    double sum = 0;
    for (const ScriptCount& count : result.scripts)
      sum += count.num_tokens;
    EXPECT_DOUBLE_EQ(sum, static_cast<double>(result.num_tokens())) << text;
  }
}

TEST(TokenComparison, ATokenOfAPartOfACharacterIsShownAsItsBytes) {
  EXPECT_EQ(measured("\u4E16").pieces, (std::vector<std::string>{"\xE4\xB8", "\x96"}));
}

TEST(TokenComparison, KnowsTheScripts) {
  EXPECT_EQ(script_of(U'中'), Script::kChinese);
  EXPECT_EQ(script_of(U'，'), Script::kChinese);
  EXPECT_EQ(script_of(U'Z'), Script::kLatin);
  EXPECT_EQ(script_of(U'ß'), Script::kLatin);
  EXPECT_EQ(script_of(U'{'), Script::kCode);
  EXPECT_EQ(script_of(U'\n'), Script::kCode);
  EXPECT_EQ(script_of(U'あ'), Script::kOther);
  EXPECT_EQ(script_of(U'я'), Script::kOther);
}

}  // namespace
}  // namespace vitrine::tools
