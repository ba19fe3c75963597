#include "tokenizer/word_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "support/reference_data.h"
#include "tokenizer/tokenizer_files.h"

namespace vitrine::tokenizer {
namespace {

template <typename Table>
void expect_what_was_kept(std::size_t min_bytes) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Table table(64);  // few places, so that words take each other's
  std::map<std::string, std::vector<TokenId>> kept;
  std::size_t num_found = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string readable(Table::kMaxBytes + 1, 'x');
    const std::size_t size = min_bytes + random() % (Table::kMaxBytes + 1 - min_bytes);
    for (std::size_t i = 0; i < size; ++i)
      readable[i] = static_cast<char>(i < 6 ? random() % 2 : 0);  // zeros are what a key is filled up with
    const std::string word = readable.substr(0, size);
    const auto key = Table::key_of(readable.data(), size);
    const std::size_t place = table.place_of(key);
    std::array<TokenId, Table::kMaxIds> found{};
    if (const std::size_t count = table.find(key, place, found.data()); count > 0) {
      ++num_found;
      ASSERT_EQ(std::vector(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count)), kept.at(word));
      continue;
    }
    std::vector<TokenId> ids(1 + random() % Table::kMaxIds);
    for (TokenId& id : ids)
      id = static_cast<TokenId>(random() % 1000);
    table.keep(key, place, ids);
    kept[word] = ids;
  }
  EXPECT_GT(num_found, 100u);
}

TEST(WordTable, GivesWhatWasKeptForAShortWord) {
  expect_what_was_kept<IdCache::ShortWords>(1);
}
TEST(WordTable, GivesWhatWasKeptForALongWord) {
  expect_what_was_kept<IdCache::LongWords>(IdCache::ShortWords::kMaxBytes + 1);
}

TEST(IdCachePool, LendsACacheAgainAndMakesNoneForAShortText) {
  IdCachePool pool;
  EXPECT_EQ(pool.take(100), nullptr);
  auto cache = pool.take(1 << 20);
  ASSERT_NE(cache, nullptr);
  const IdCache* const address = cache.get();
  pool.give_back(std::move(cache));
  EXPECT_EQ(pool.take(100).get(), address);
}

std::string mixed_text(std::mt19937& random, std::size_t num_bytes) {
  static const std::u32string characters =
      U"''sStTaeionrlEAZ0127   "
      U"\t\n\r.,!/-_@<|\u00A0\u3000\u017F\u0301\u00E9\u00C9\u01C5\u4E2D\u65E5\u7684\u4E86\u3042\u30AB"
      U"\uD55C\u0E01\u0661\U0001F600\u200D\u2581";
  std::string text;
  while (text.size() < num_bytes) {
    // Words that come again, and characters in any order.
    const bool word = random() % 3 == 0;
    if (word)
      text += std::string_view(" the lower estimates of internationalisation ").substr(random() % 12, random() % 33);
    for (std::size_t i = random() % 12; i > 0 && !word; --i)
      base::append_utf8(text, characters[random() % characters.size()]);
  }
  return text;
}

class PublishedWords : public ::testing::TestWithParam<const char*> {};

// With offsets a text takes another way, word by word without the tables.
TEST_P(PublishedWords, GiveTheIdsThatTheWayWithOffsetsGives) {
  const Tokenizer* tokenizer = testing::shared_tokenizer(GetParam());
  if (tokenizer == nullptr) VT_SKIP_WITHOUT(GetParam());
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const std::size_t num_bytes : {10, 31, 32, 33, 500, 5000, 20'000, 200'000, 20'000, 100}) {
    const std::string text = mixed_text(random, num_bytes);
    std::vector<TokenId> expected;
    for (const EncodedToken& token : tokenizer->encode_with_offsets(text, {}).value_or_throw())
      expected.push_back(token.id);
    ASSERT_EQ(tokenizer->encode(text, {}).value_or_throw(), expected) << num_bytes;
  }
}

TEST_P(PublishedWords, AreTheSameOnManyThreads) {
  const Tokenizer* tokenizer = testing::shared_tokenizer(GetParam());
  if (tokenizer == nullptr) VT_SKIP_WITHOUT(GetParam());
  std::mt19937 random(1);
  const std::string text = mixed_text(random, 100'000);
  const std::vector<TokenId> expected = tokenizer->encode(text, {}).value_or_throw();
  std::vector<std::thread> threads;
  std::array<bool, 6> same{};
  for (bool& result : same)
    threads.emplace_back([&] { result = tokenizer->encode(text, {}).value_or_throw() == expected; });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(std::ranges::count(same, true), static_cast<std::ptrdiff_t>(same.size()));
}

// Long lists are decoded by a table of all tokens' bytes, where decoding is joining those.
TEST_P(PublishedWords, AreDecodedAsTheyAreStreamed) {
  const Tokenizer* tokenizer = testing::shared_tokenizer(GetParam());
  if (tokenizer == nullptr) VT_SKIP_WITHOUT(GetParam());
  if (!tokenizer->decode_rules().joins_bytes()) GTEST_SKIP() << "decoded piece by piece";
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<TokenId> ids(60'000);
  for (TokenId& id : ids)  // many are parts of characters
    id = static_cast<TokenId>(random() % (random() % 2 == 0 ? 300 : tokenizer->vocab_size() + 10)) - 5;
  for (const bool skip_special : {false, true}) {
    Detokenizer stream(*tokenizer, skip_special);
    std::string expected;
    for (const TokenId id : ids)
      expected += stream.push(id);
    expected += stream.finish();
    EXPECT_TRUE(tokenizer->decode(ids, skip_special) == expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Published, PublishedWords,
                         ::testing::Values("llama3_1", "qwen3", "tiktoken_cl100k_base", "tiktoken_o200k_base",
                                           "tiktoken_r50k_base", "mistral_tekken_240911", "smollm2", "gemma3",
                                           "deepseek_v3"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace vitrine::tokenizer
