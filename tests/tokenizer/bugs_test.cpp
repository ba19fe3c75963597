#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "support/long_run.h"
#include "support/reference_data.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

// Faults that were reported against other engines, by the reference's number.
namespace vitrine::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

class KnownBugs : public ::testing::Test {
 protected:
  // False where the file was not fetched.
  bool open(const char* name) {
    tokenizer_ = testing::shared_tokenizer(name);
    testing::count_cases("bugs", tokenizer_ != nullptr ? 1 : 0);
    return tokenizer_ != nullptr;
  }
  Ids encode(std::string_view text, bool parse_special = true) const {
    return tokenizer_->encode(text, {.parse_special = parse_special}).value_or_throw();
  }

  const Tokenizer* tokenizer_ = nullptr;
};

#define OPEN_OR_SKIP(name) \
  if (!open(name)) VT_SKIP_WITHOUT(name)

TEST_F(KnownBugs, Bug000SentencePiecePrefixAndEmojiBytes) {
  OPEN_OR_SKIP("llama2");
  const std::string text = "This is \xF0\x9F\xA6\x99.cpp";
  const Ids ids = {910, 338, 29871, 243, 162, 169, 156, 29889, 8223};
  EXPECT_EQ(encode(text), ids);
  EXPECT_EQ(tokenizer_->decode(ids), text);
}

TEST_F(KnownBugs, Bug002LeadingSpaceBehindASpecialToken) {
  OPEN_OR_SKIP("mistral_v1_hf_lenml_llama2");
  EXPECT_EQ(encode("yes</s> no"), (Ids{5081, 2, 28705, 708}));
}

TEST_F(KnownBugs, Bug004PrefixSpaceIsTakenAwayByDecoding) {
  OPEN_OR_SKIP("llama2");
  EXPECT_EQ(encode("Hello:World"), (Ids{15043, 29901, 14058}));
  EXPECT_EQ(tokenizer_->decode(encode("Hello:World")), "Hello:World");
}

TEST_F(KnownBugs, Bug006AMillionEqualCharacters) {
  OPEN_OR_SKIP("smollm2");
  const std::string text(1'000'000, '^');
  const vitrine::testing::LongRun run;
  const Ids ids = encode(text);
  EXPECT_LT(run.seconds(), run.kMostSeconds);
  EXPECT_EQ(tokenizer_->decode(ids), text);
}

TEST_F(KnownBugs, Bug008TheFileAndNotTheClassNameDecides) {
  OPEN_OR_SKIP("deepseek_v3");
  const std::string text = "theorem t (x : \xE2\x84\x95) : x = x";
  const Ids ids = {1805, 14921, 259, 343, 90, 1313, 14508, 246, 11, 1313, 1527, 438, 1527};
  EXPECT_EQ(encode(text), ids);
  EXPECT_EQ(tokenizer_->decode(ids), text);
}

TEST_F(KnownBugs, Bug010SpecialTokensStayTextWhenTold) {
  OPEN_OR_SKIP("llama3_1");
  EXPECT_EQ(encode("<|eot_id|> is text here", false), (Ids{27, 91, 68, 354, 851, 91, 29, 374, 1495, 1618}));
}

TEST_F(KnownBugs, Bug012BackslashNIsNoNewline) {
  OPEN_OR_SKIP("qwen3");
  EXPECT_EQ(encode("line one\nline two\\n end"), (Ids{1056, 825, 198, 1056, 1378, 1699, 835}));
}

void expect_stream(const Tokenizer& tokenizer, const Ids& ids, const std::vector<std::string>& deltas) {
  Detokenizer detokenizer(tokenizer, false);
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(detokenizer.push(ids[i]), deltas[i]) << "token " << i;
  EXPECT_EQ(detokenizer.finish(), "");
  EXPECT_EQ(std::accumulate(deltas.begin(), deltas.end(), std::string()), tokenizer.decode(ids));
}

TEST_F(KnownBugs, Bug014PartOfACharacterWaitsAndKeepsItsBytes) {
  OPEN_OR_SKIP("llama3_1");
  EXPECT_EQ(tokenizer_->token_bytes(11410), " \xF0\x9F");
  EXPECT_EQ(tokenizer_->token_bytes(104), "\xAB");
  expect_stream(*tokenizer_, {564, 11410, 104, 254, 0}, {"ok", " ", "", "\xF0\x9F\xAB\xA0", "!"});
}

TEST_F(KnownBugs, Bug016JoinedEmojiOverManyTokens) {
  OPEN_OR_SKIP("qwen3");
  expect_stream(*tokenizer_, {145233, 378, 235, 145233, 378, 235, 145665, 378, 235, 145988, 61804, 235, 145375},
                {"\xF0\x9F\x91\xA9", "", "\xE2\x80\x8D", "\xF0\x9F\x91\xA9", "", "\xE2\x80\x8D", "\xF0\x9F\x91\xA7", "",
                 "\xE2\x80\x8D", "\xF0\x9F\x91\xA6", " ", "\xF0\x9F\x91\x8D", "\xF0\x9F\x8F\xBD"});
}

TEST_F(KnownBugs, Bug018AnUnfinishedCharacterIsFlushedOnce) {
  OPEN_OR_SKIP("llama3_1");
  Detokenizer detokenizer(*tokenizer_, false);
  EXPECT_EQ(detokenizer.push(9468), "");
  EXPECT_EQ(detokenizer.push(104), "");
  EXPECT_EQ(detokenizer.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(detokenizer.finish(), "");
}

}  // namespace
}  // namespace vitrine::tokenizer
