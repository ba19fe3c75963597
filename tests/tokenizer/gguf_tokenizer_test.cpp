#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "support/reference_data.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

namespace vitrine::tokenizer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

GgufVocabulary small_sentencepiece() {
  GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = {"<unk>",
                       "<s>",
                       "\xE2\x96\x81",
                       "a",
                       "b",
                       "ab",
                       "\xE2\x96\x81"
                       "a"};
  vocabulary.scores = {0, 0, -5, -6, -7, -1, -2};
  vocabulary.token_types = {2, 3, 1, 1, 1, 1, 1};
  vocabulary.unk = 0;
  vocabulary.bos = 1;
  return vocabulary;
}

std::string error_of(const GgufVocabulary& vocabulary) {
  const auto result = Tokenizer::from_gguf(vocabulary);
  return result ? "" : result.error().message;
}

TEST(GgufTokenizer, MergesByScore) {
  const auto tokenizer = Tokenizer::from_gguf(small_sentencepiece()).value_or_throw();
  EXPECT_EQ(tokenizer->encode("ab", {}).value_or_throw(), (Ids{2, 5}));
  EXPECT_EQ(tokenizer->encode("a", {.add_special = true}).value_or_throw(), (Ids{1, 6}));
  EXPECT_EQ(tokenizer->decode(Ids{2, 5}), "ab");
}

TEST(GgufTokenizer, MergesCharactersThatAreNoPieces) {
  GgufVocabulary vocabulary = small_sentencepiece();
  vocabulary.tokens[5] = "xy";
  const auto tokenizer = Tokenizer::from_gguf(vocabulary).value_or_throw();
  EXPECT_EQ(tokenizer->encode("xyx", {}).value_or_throw(), (Ids{2, 5, 0}));
}

TEST(GgufTokenizer, NamesTheFieldThatIsWrong) {
  GgufVocabulary vocabulary = small_sentencepiece();
  vocabulary.scores.pop_back();
  EXPECT_THAT(error_of(vocabulary), HasSubstr("tokenizer.ggml.scores"));
  vocabulary = small_sentencepiece();
  vocabulary.bos = 7;
  EXPECT_THAT(error_of(vocabulary), HasSubstr("tokenizer.ggml.bos_token_id"));
  vocabulary = small_sentencepiece();
  vocabulary.tokens[4] = "a";
  EXPECT_THAT(error_of(vocabulary), HasSubstr("tokenizer.ggml.tokens"));
  vocabulary = small_sentencepiece();
  vocabulary.tokens.clear();
  EXPECT_THAT(error_of(vocabulary), HasSubstr("tokenizer.ggml.tokens"));
  vocabulary = small_sentencepiece();
  vocabulary.model = "rwkv";
  EXPECT_THAT(error_of(vocabulary), HasSubstr("\"rwkv\""));
  vocabulary.model = "gpt2";
  vocabulary.pre = "never-heard-of";
  EXPECT_THAT(error_of(vocabulary), HasSubstr("\"never-heard-of\""));
  vocabulary.pre = "gpt-2";
  vocabulary.merges = {"a z"};
  EXPECT_THAT(error_of(vocabulary), HasSubstr("tokenizer.ggml.merges[0]"));
}

TEST(GgufTokenizer, StrangeByteTokensAreNoBytes) {
  GgufVocabulary vocabulary = small_sentencepiece();
  vocabulary.tokens[3] = "<0x-1>";
  vocabulary.tokens[4] = "<0xZZ>";
  const auto tokenizer = Tokenizer::from_gguf(vocabulary).value_or_throw();
  EXPECT_EQ(tokenizer->decode(Ids{3, 4}), "<0x-1><0xZZ>");
}

// Text over the characters at which the two could part. Not U+2581 and not "<unused3>": there the files themselves
// differ in what they count as an added or a special token.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> units = {
      "the",       "Hello",        " ",    "  ",   "\n",           "\n\n",          "\t",
      "1",         "23",           "x",    "ing",  "\xE6\x97\xA5", "\xC3\xA9",      "\xF0\x9F\x99\x82",
      "<bos>",     "</s>",         ".",    ",",    "'s",           "<end_of_turn>",

      "function(", "\xEF\xBF\xBD", "\x01", "    ", "\r\n"};
  std::string text;
  for (std::size_t count = random() % 30; count > 0; --count)
    text += units[random() % units.size()];
  return text;
}

TEST(GgufTokenizer, GemmaGivesWhatItsTokenizerJsonGives) {
  const Tokenizer* from_gguf = testing::shared_tokenizer("gemma3_gguf");
  const Tokenizer* from_json = testing::shared_tokenizer("gemma3");
  if (from_gguf == nullptr || from_json == nullptr) VT_SKIP_WITHOUT("gemma3_gguf.gguf and gemma3/tokenizer.json");
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random_text(random);
    for (const bool parse_special : {true, false}) {
      ASSERT_EQ(from_gguf->encode(text, {.parse_special = parse_special}).value_or_throw(),
                from_json->encode(text, {.parse_special = parse_special}).value_or_throw())
          << '"' << text << '"';
    }
  }
  testing::count_cases("tokenizers, GGUF against tokenizer.json", 3000);
}

}  // namespace
}  // namespace vitrine::tokenizer
