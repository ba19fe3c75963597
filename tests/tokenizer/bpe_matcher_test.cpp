#include "tokenizer/bpe_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "support/reference_data.h"
#include "tokenizer/tokenizer_files.h"

namespace vitrine::tokenizer {
namespace {

// A random vocabulary over the letters a to c. Ranks may be shared, a token may be listed with more than one pair, and
// a merge may enable one of lower rank.
struct RandomBpe {
  std::vector<std::string> texts = {"a", "b", "c"};
  MergeTable merges;
  Vocabulary vocabulary;
  ByteIds byte_ids{};

  RandomBpe(std::mt19937& random, std::size_t num_merges, std::uint32_t max_rank) {
    byte_ids.fill(-1);
    for (TokenId id = 0; id < 3; ++id)
      byte_ids[static_cast<std::size_t>('a' + id)] = id;
    for (std::size_t i = 0; i < num_merges; ++i) {
      const std::size_t left = random() % texts.size();
      const std::size_t right = random() % texts.size();
      const std::string text = texts[left] + texts[right];
      const auto merged = static_cast<std::size_t>(std::ranges::find(texts, text) - texts.begin());
      if (merged == texts.size()) texts.push_back(text);
      merges.insert(static_cast<TokenId>(left), static_cast<TokenId>(right),
                    {static_cast<std::uint32_t>(random() % (max_rank + 1)), static_cast<TokenId>(merged)});
    }
    for (std::size_t id = 0; id < texts.size(); ++id)
      EXPECT_TRUE(vocabulary.add(static_cast<TokenId>(id), texts[id]));
  }

  std::unique_ptr<BpeMatcher> matcher(bool take_whole = false) const {
    return BpeMatcher::build({vocabulary, merges, byte_ids, take_whole});
  }
  std::vector<Symbol> merged(const std::string& text) const {
    std::vector<Symbol> symbols;
    for (const char letter : text)
      symbols.push_back({byte_ids[static_cast<unsigned char>(letter)], 1});
    apply_merges_by_scan(merges, symbols);
    return symbols;
  }
};

bool encode(const BpeMatcher& matcher, std::string_view text, std::vector<Symbol>& symbols) {
  std::vector<Symbol> scratch;
  return matcher.encode(text, scratch, symbols);
}

std::string random_text(std::mt19937& random, std::size_t max_size) {
  std::string text(1 + random() % max_size, 'a');
  for (char& letter : text)
    letter = static_cast<char>('a' + random() % 3);
  return text;
}

void expect_what_merging_gives(std::uint32_t max_rank) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int num_built = 0;
  for (int round = 0; round < 2000; ++round) {
    const RandomBpe bpe(random, 1 + random() % 40, max_rank);
    const auto matcher = bpe.matcher();
    if (matcher == nullptr) continue;
    ++num_built;
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_text(random, 60);
      std::vector<Symbol> symbols;
      ASSERT_TRUE(encode(*matcher, text, symbols));
      ASSERT_EQ(symbols, bpe.merged(text)) << text;
    }
  }
  EXPECT_GT(num_built, 1000);
}

TEST(BpeMatcher, GivesWhatMergingGives) {
  expect_what_merging_gives(1'000'000);
}

TEST(BpeMatcher, GivesWhatMergingGivesWhereRanksAreShared) {
  expect_what_merging_gives(12);
}

TEST(BpeMatcher, TakesAPieceOfTheVocabularyWholeWhereThatIsAsked) {
  RandomBpe bpe(*std::make_unique<std::mt19937>(1), 0, 0);
  ASSERT_TRUE(bpe.vocabulary.add(3, "abc"));  // no merge makes it
  std::vector<Symbol> symbols;
  ASSERT_TRUE(encode(*bpe.matcher(), "abc", symbols));
  EXPECT_EQ(symbols.size(), 3u);
  symbols.clear();
  const auto whole = bpe.matcher(true);
  ASSERT_TRUE(encode(*whole, "abc", symbols));
  EXPECT_EQ(symbols, (std::vector<Symbol>{{3, 3}}));
  symbols.clear();
  ASSERT_TRUE(encode(*whole, "abca", symbols));
  EXPECT_EQ(symbols.size(), 4u);
}

TEST(BpeMatcher, LeavesAPieceWithAByteThatIsNoTokenToOthers) {
  std::mt19937 random(2);
  const RandomBpe bpe(random, 5, 10);
  std::vector<Symbol> symbols = {{0, 1}};
  EXPECT_FALSE(encode(*bpe.matcher(), "abxab", symbols));
  EXPECT_EQ(symbols.size(), 1u);
}

// Pieces of prose, code and many scripts, no two alike.
std::vector<std::string> varied_texts(std::mt19937& random) {
  std::string text;
  for (const char* name : {"quality/prose.txt", "quality/code.txt"})
    text += testing::read_file(testing::data_path(name));
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    std::string some = text.substr(random() % (text.size() - 100), 1 + random() % 60);
    // Letters of one block: a script's alphabet, or a mixture of symbols.
    const auto block = static_cast<char32_t>(random() % 0x300) << 6U;
    for (std::size_t j = random() % 20; j > 0; --j) {
      const char32_t code_point = block + random() % 0x40;
      if (code_point >= 0x80) base::append_utf8(some, code_point);
    }
    texts.push_back(std::move(some));
  }
  return texts;
}

class PublishedVocabulary : public ::testing::TestWithParam<const char*> {};

// A tokenizer merges until it has merged so much that a matcher pays: before and after, the same tokens.
TEST_P(PublishedVocabulary, GivesTheSameTokensOnceItIsMatched) {
  const auto file = testing::tokenizer_file(GetParam());
  if (!file) VT_SKIP_WITHOUT(GetParam());
  const auto tokenizer = testing::open_tokenizer(*file);
  ASSERT_NE(tokenizer, nullptr);
  std::mt19937 random(3);
  const std::vector<std::string> texts = varied_texts(random);
  std::vector<std::vector<TokenId>> merged;
  for (std::size_t i = 0; i < 1000; ++i)
    merged.push_back(tokenizer->encode(texts[i], {}).value_or_throw());
  for (const std::string& text : texts)
    ASSERT_TRUE(tokenizer->encode(text, {}));
  for (std::size_t i = 0; i < merged.size(); ++i)
    EXPECT_EQ(tokenizer->encode(texts[i], {}).value_or_throw(), merged[i]) << texts[i];
}

// In a text of new words alone the matcher is built after its first blocks.
TEST_P(PublishedVocabulary, GivesTheSameTokensWhereATextIsMatchedFromItsMiddleOn) {
  const auto file = testing::tokenizer_file(GetParam());
  if (!file) VT_SKIP_WITHOUT(GetParam());
  const auto tokenizer = testing::open_tokenizer(*file);
  ASSERT_NE(tokenizer, nullptr);
  std::mt19937 random(4);
  std::string text;
  while (text.size() < 600'000) {
    for (std::size_t i = 1 + random() % 30; i > 0; --i)
      base::append_utf8(text, 0x4E00 + static_cast<char32_t>(random() % 2000));
    text += random() % 2 == 0 ? "\n" : "\xEF\xBC\x8C";
  }
  const auto half_merged = tokenizer->encode(text, {}).value_or_throw();
  EXPECT_EQ(tokenizer->encode(text, {}).value_or_throw(), half_merged);
  EXPECT_EQ(tokenizer->decode(half_merged), text);
}

INSTANTIATE_TEST_SUITE_P(Published, PublishedVocabulary,
                         ::testing::Values("smollm2", "llama3_1", "qwen3", "deepseek_v3", "gptoss"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace vitrine::tokenizer
