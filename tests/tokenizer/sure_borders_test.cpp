#include "tokenizer/sure_borders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/corpus_counter.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trained_tokenizer.h"

namespace vitrine::tokenizer {
namespace {

// Characters of one, two, three and four bytes, many of which share bytes with others.
const std::u32string kAllWidths =
    U"aZ7 -\u00E9\u0430\u4E2D\u4E2E\u4E6D\u5E2D\u65E5\u7684\u9FFF\uAC00\uD55C\u3042\u3002\uFF0C\u0E01\u0800\uFFFD"
    U"\U0001F600\U00020000";

std::string utf8(char32_t character) {
  std::string bytes;
  base::append_utf8(bytes, character);
  return bytes;
}

ByteIds first_ids() {
  ByteIds ids;
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// All bytes, and behind them pieces of random text that begin and end anywhere.
std::vector<std::string> tokens_of_all_widths(std::mt19937& random, std::size_t count) {
  std::vector<std::string> tokens;
  for (unsigned byte = 0; byte < 256; ++byte)
    tokens.emplace_back(1, static_cast<char>(byte));
  while (tokens.size() < 256 + count) {
    std::string text;
    for (std::size_t i = 1 + random() % 4; i > 0; --i)
      text += utf8(kAllWidths[random() % kAllWidths.size()]);
    const std::size_t begin = random() % 3 == 0 ? random() % text.size() : 0;
    const std::size_t size = random() % 3 == 0 ? 1 + random() % (text.size() - begin) : text.size() - begin;
    const std::string token = text.substr(begin, size);
    if (std::ranges::find(tokens, token) == tokens.end()) tokens.push_back(token);
  }
  return tokens;
}

bool stands_before(std::string_view part, std::string_view character) {
  return part.ends_with(character) || character.ends_with(part);
}
bool stands_behind(std::string_view part, std::string_view character) {
  return part.starts_with(character) || character.starts_with(part);
}

bool some_token_reaches_across(const std::vector<std::string>& tokens, std::string_view left, std::string_view right) {
  return std::ranges::any_of(tokens, [&](std::string_view token) {
    for (std::size_t i = 1; i < token.size(); ++i) {
      if (stands_before(token.substr(0, i), left) && stands_behind(token.substr(i), right)) return true;
    }
    return false;
  });
}

bool is_looked_at(char32_t character) {
  const std::size_t size = utf8(character).size();
  return size == 1 || size == 3;
}

TEST(SureBorders, AreWhereNoTokenReachesAcross) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::size_t num_sure = 0, num_missed = 0;
  for (int round = 0; round < 40; ++round) {
    const std::vector<std::string> tokens = tokens_of_all_widths(random, 5 + random() % 150);
    Vocabulary vocabulary;
    for (std::size_t id = 0; id < tokens.size(); ++id)
      ASSERT_TRUE(vocabulary.add(static_cast<TokenId>(id), spelling_of_bytes(tokens[id])));
    const auto borders = SureBorders::build(vocabulary, first_ids());
    ASSERT_NE(borders, nullptr);
    for (const char32_t left : kAllWidths) {
      for (const char32_t right : kAllWidths) {
        const bool reaches = some_token_reaches_across(tokens, utf8(left), utf8(right));
        const bool sure = borders->between(left, right);
        ASSERT_FALSE(sure && reaches) << utf8(left) << utf8(right);
        const bool is_wanted = is_looked_at(left) && is_looked_at(right) && (left >= 0x80 || right >= 0x80);
        num_sure += sure ? 1 : 0;
        num_missed += is_wanted && !reaches && !sure ? 1 : 0;
        ASSERT_FALSE(sure && !is_wanted);
      }
    }
  }
  EXPECT_GT(num_sure, 5000u);
  EXPECT_LT(num_missed * 10, num_sure);  // taken for unsure by chance
}

TEST(SureBorders, KeepTheTokensOfACharacter) {
  Vocabulary vocabulary;
  const auto borders = SureBorders::build(vocabulary, first_ids());
  std::array<TokenId, SureBorders::kMaxIds> found{};
  EXPECT_EQ(borders->find(U'\u4E2D', found.data()), 0u);
  const std::vector<TokenId> ids = {0, SureBorders::kMaxId, 7};
  for (std::size_t count = 1; count <= ids.size(); ++count) {
    const auto character = static_cast<char32_t>(0x5000 + count);
    borders->keep(character, std::span(ids).first(count));
    borders->keep(character, std::span(ids).first(count));  // by another thread
    ASSERT_EQ(borders->find(character, found.data()), count);
    EXPECT_TRUE(std::equal(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), found.begin()));
  }
}

TEST(SureBorders, AreNotLookedForWhereAByteHasNoToken) {
  Vocabulary vocabulary;
  ByteIds ids = first_ids();
  ids[0xE4] = -1;
  EXPECT_EQ(SureBorders::build(vocabulary, ids), nullptr);
}

std::string text_of_all_widths(std::mt19937& random, std::size_t num_bytes) {
  std::string text;
  while (text.size() < num_bytes) {
    const bool has_all = random() % 8 == 0;
    for (std::size_t i = 1 + random() % 12; i > 0; --i) {
      // Some characters come far more often, so that tokens of several come to be.
      const std::size_t index = random() % kAllWidths.size();
      const std::size_t often = 5 + random() % 3 + random() % 8;
      base::append_utf8(text, kAllWidths[has_all ? index : often]);
    }
    text += " a \n"[random() % 4];
  }
  return text;
}

// With offsets a text takes another way, each word as a whole.
void expect_what_whole_words_give(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<TokenId> expected;
  for (const EncodedToken& token : tokenizer.encode_with_offsets(text, {}).value_or_throw())
    expected.push_back(token.id);
  ASSERT_TRUE(tokenizer.encode(text, {}).value_or_throw() == expected);
}

TEST(SureBorders, ChangeNothingOfWhatIsEncoded) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  TrainingObserver no_observer;
  for (const std::string_view splitter : {"gpt2", "llama3", "o200k"}) {
    WordCounts words;
    count_words(text_of_all_widths(random, 20'000), {known_pattern(splitter).scan, false}, words);
    for (const std::size_t num_tokens : {300, 400, 900}) {
      const auto trained = train_bpe(words, {num_tokens, 2, {}}, no_observer).value_or_throw();
      const auto tokenizer =
          Tokenizer::from_tokenizer_json(to_tokenizer_json(trained, known_pattern(splitter)), "").value_or_throw();
      for (const std::size_t num_bytes : {300'000, 300, 50'000})
        expect_what_whole_words_give(*tokenizer, text_of_all_widths(random, num_bytes));
    }
  }
}

// A token that no merge makes is taken where it is a whole word, never where it is a part of one.
TEST(SureBorders, APartIsNotTakenWhole) {
  std::string vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string spelling(spelling_of_byte(static_cast<unsigned char>(byte)));
    vocabulary +=
        (spelling == "\"" || spelling == "\\" ? "\"\\" : "\"") + spelling + "\":" + std::to_string(byte) + ",";
  }
  const std::string country = spelling_of_bytes("\u56FD"), both = spelling_of_bytes("\u56FD\u5BB6");
  vocabulary += "\"" + country + "\":256,\"" + both + "\":257";
  const std::string file =
      R"({"model":{"type":"BPE","ignore_merges":true,"vocab":{)" + vocabulary +
      R"(},"merges":[]},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split",)"
      R"("pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|)"
      R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated",)"
      R"("invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
      R"("use_regex":false}]},"decoder":{"type":"ByteLevel"}})";
  const auto tokenizer = Tokenizer::from_tokenizer_json(file, "").value_or_throw();
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += "\u56FD\n\u56FD\u5BB6\n\u4E2D\u56FD\u4E2D\n\u4E2D\u56FD\u5BB6\n\u56FD\u4E2D\n";
  expect_what_whole_words_give(*tokenizer, text);
  const auto ids = tokenizer->encode(text, {}).value_or_throw();
  EXPECT_EQ(std::ranges::count(ids, 256), 20'000);
  EXPECT_EQ(std::ranges::count(ids, 257), 20'000);
}

}  // namespace
}  // namespace vitrine::tokenizer
