#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/random_seed.h"
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

// Scores negative, zero of both signs and positive, many of them equal; some pieces are there only through others.
GgufVocabulary random_sentencepiece(std::mt19937& random) {
  const std::vector<std::string> characters = {"\xE2\x96\x81", "a", "b", "\xC3\xA9", "\xE6\x97\xA5"};
  constexpr float kScores[] = {-3, -2.5f, -1, -0.0f, 0, 1, 1.5f, -1e30f, 1e-40f};
  GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  static std::set<std::string> pieces;  // what the views of all rounds show
  std::set<std::string_view> tokens = {"<unk>"};
  for (int i = 0; i < 24; ++i) {
    std::string piece;
    for (std::size_t length = 1 + random() % 4; length > 0; --length)
      piece += characters[random() % characters.size()];
    tokens.insert(*pieces.insert(piece).first);
  }
  vocabulary.tokens.assign(tokens.begin(), tokens.end());
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i)
    vocabulary.scores.push_back(kScores[random() % std::size(kScores)]);
  vocabulary.token_types.assign(vocabulary.tokens.size(), 1);
  vocabulary.token_types[0] = 2;
  vocabulary.unk = 0;
  return vocabulary;
}

// SentencePiece's rule to the letter: join the pair whose text is the piece with the highest score, the leftmost of
// those, until none is left.
Ids merge_by_the_rule(const GgufVocabulary& vocabulary, std::vector<std::string> symbols) {
  const auto id_of = [&](const std::string& text) {
    return std::ranges::find(vocabulary.tokens, text) - vocabulary.tokens.begin();
  };
  const auto size = static_cast<std::ptrdiff_t>(vocabulary.tokens.size());
  while (true) {
    std::size_t best = symbols.size();
    float best_score = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto id = id_of(symbols[i] + symbols[i + 1]);
      if (id == size) continue;
      const float score = vocabulary.scores[static_cast<std::size_t>(id)];
      if (best < symbols.size() && score <= best_score) continue;
      best = i;
      best_score = score;
    }
    if (best == symbols.size()) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const std::string& symbol : symbols) {
    const bool known = id_of(symbol) < size;
    if (known || ids.empty() || ids.back() != 0) ids.push_back(known ? static_cast<TokenId>(id_of(symbol)) : 0);
  }
  return ids;
}

TEST(GgufTokenizer, MergesAsTheRuleSays) {
  constexpr const char* kTyped[] = {" ", "a", "b", "\xC3\xA9", "\xE6\x97\xA5", "z"};
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const GgufVocabulary vocabulary = random_sentencepiece(random);
    const auto tokenizer = Tokenizer::from_gguf(vocabulary).value_or_throw();
    for (const std::size_t length : {3, 20, 150}) {
      std::string text;
      std::vector<std::string> symbols = {"\xE2\x96\x81"};
      for (std::size_t i = 0; i < length; ++i) {
        const std::string character = kTyped[random() % std::size(kTyped)];
        text += character;
        symbols.push_back(character == " " ? "\xE2\x96\x81" : character);
      }
      ASSERT_EQ(tokenizer->encode(text, {}).value_or_throw(), merge_by_the_rule(vocabulary, symbols)) << text;
    }
  }
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
  const std::uint32_t seed = testing::random_seed();
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
