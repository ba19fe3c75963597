#include "tokenizer/word_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "tokenizer/corpus_counter.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trained_tokenizer.h"

namespace vitrine::tokenizer {
namespace {

TEST(WordCache, GivesWhatWasKeptForTheWord) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  WordCache cache;
  cache.reserve_for(4096);  // few places, so that words take each other's
  std::map<std::string, std::vector<Symbol>> kept;
  std::size_t num_found = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string word(1 + random() % 30, 'a');
    for (char& letter : word)
      letter = static_cast<char>(random() % 2);  // zeros are what the cache pads with
    std::vector<Symbol> symbols = {{7, 7}};
    if (cache.find(word, symbols)) {
      ++num_found;
      symbols.erase(symbols.begin());
      ASSERT_EQ(symbols, kept.at(word));
      continue;
    }
    ASSERT_EQ(symbols.size(), 1u);
    for (std::size_t i = 1 + random() % 9; i > 0; --i)
      symbols.push_back({static_cast<TokenId>(random() % 1000), static_cast<std::uint32_t>(random() % 25)});
    cache.keep(word, symbols, 1);
    symbols.erase(symbols.begin());
    kept[word] = symbols;
  }
  EXPECT_GT(num_found, 100u);
}

TEST(WordCache, KeepsNothingForAShortText) {
  WordCache cache;
  cache.reserve_for(100);
  std::vector<Symbol> symbols;
  EXPECT_FALSE(cache.find("word", symbols));
  symbols.push_back({1, 4});
  cache.keep("word", symbols, 0);
  EXPECT_FALSE(cache.find("word", symbols));
}

std::string random_text(std::mt19937& random, std::size_t num_bytes) {
  static const std::vector<std::string> parts = {"the", "lower", "est", " ",   "  ",     "\n",     "\r\n",   "42", "'s",
                                                 "--",  ".",     "\t",  "  x", "\u4E2D", "\u3000", "\u00E9", "; "};
  std::string text;
  while (text.size() < num_bytes)
    text += parts[random() % parts.size()];
  return text;
}

// The text in parts too short for the cache; `may_cut` says where.
template <typename MayCut>
std::vector<TokenId> encode_in_parts(const Tokenizer& tokenizer, std::string_view text, const MayCut& may_cut) {
  std::vector<TokenId> ids;
  while (!text.empty()) {
    std::size_t end = 1;
    while (end < text.size() && !may_cut(text, end))
      ++end;
    EXPECT_LT(end, 2048u);
    const auto part = tokenizer.encode(text.substr(0, end), {}).value_or_throw();
    ids.insert(ids.end(), part.begin(), part.end());
    text.remove_prefix(end);
  }
  return ids;
}

std::vector<TokenId> ids_of_tracked(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  std::size_t pos = 0;
  for (const EncodedToken& token : tokenizer.encode_with_offsets(text, {}).value_or_throw()) {
    EXPECT_EQ(token.start, pos);
    pos = token.end;
    ids.push_back(token.id);
  }
  EXPECT_EQ(pos, text.size());
  return ids;
}

TEST(WordCache, ChangesNothingOfByteLevelBpe) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  TrainingObserver no_observer;
  for (const std::string_view splitter : word_splitters()) {
    WordCounts words;
    count_words(random_text(random, 2000), {known_pattern(splitter).scan, false}, words);
    const auto trained = train_bpe(words, {300, 2, {}}, no_observer).value_or_throw();
    const auto tokenizer =
        Tokenizer::from_tokenizer_json(to_tokenizer_json(trained, known_pattern(splitter)), "").value_or_throw();
    const std::string text = random_text(random, 100'000);
    const auto ids = tokenizer->encode(text, {}).value_or_throw();
    EXPECT_EQ(ids, encode_in_parts(*tokenizer, text, is_certain_cut)) << splitter;
    EXPECT_EQ(ids, ids_of_tracked(*tokenizer, text)) << splitter;
  }
}

TEST(WordCache, ChangesNothingOfSentencePieceBpe) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.add_space_prefix = false;
  vocabulary.add_bos = false;
  const std::vector<std::string> pieces = {"<unk>",  "\u2581",  "t",  "h",  "e",  "l",   "o",  "w",  "r",   "s",
                                           "\u4E2D", "\u2581t", "he", "th", "lo", "wer", "er", "we", "low", "lower"};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    vocabulary.tokens.push_back(pieces[i]);
    vocabulary.scores.push_back(-static_cast<float>(i % 7));
    vocabulary.token_types.push_back(i == 0 ? 2 : 1);
  }
  vocabulary.unk = 0;
  const auto tokenizer = Tokenizer::from_gguf(vocabulary).value_or_throw();
  const std::string text = random_text(random, 100'000);
  const auto ids = tokenizer->encode(text, {}).value_or_throw();
  const auto before_space = [](std::string_view whole, std::size_t pos) { return whole[pos] == ' '; };
  EXPECT_EQ(ids, encode_in_parts(*tokenizer, text, before_space));
}

void expect_covered(std::string_view text, const std::vector<Range>& matches) {
  std::uint32_t pos = 0;
  for (const Range& match : matches) {
    EXPECT_EQ(match.begin, pos) << '"' << text << '"';
    pos = match.end;
  }
  EXPECT_EQ(pos, text.size()) << '"' << text << '"';
}

TEST(IsCertainCut, LeavesTheMatchesOnEitherSideAsTheyAre) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::u32string characters = U"aBcZ \n\r\t'sd19.-/\u00E9\u4E2D\u0301\u3000\u01C5\u0661\uFF0C\u3002";
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::size_t i = random() % 16; i > 0; --i)
      base::append_utf8(text, characters[random() % characters.size()]);
    for (const auto& [name, expression, scan, cuts, covers_all] : known_patterns()) {
      std::vector<Range> whole;
      scan(text, whole);
      if (covers_all) expect_covered(text, whole);
      for (std::size_t pos = 0; pos <= text.size(); ++pos) {
        if (!is_certain_cut(text, pos)) continue;
        std::vector<Range> parts;
        scan(std::string_view(text).substr(0, pos), parts);
        const std::size_t num_before = parts.size();
        scan(std::string_view(text).substr(pos), parts);
        for (std::size_t i = num_before; i < parts.size(); ++i) {
          parts[i].begin += static_cast<std::uint32_t>(pos);
          parts[i].end += static_cast<std::uint32_t>(pos);
        }
        if (cuts == Cuts::kWords) {
          const auto ends = [pos](Range match) { return match.end == pos; };
          ASSERT_TRUE(std::ranges::any_of(whole, ends)) << name << " at " << pos << " of \"" << text << "\"";
        }
        ASSERT_EQ(parts, whole) << name << " at " << pos << " of \"" << text << "\"";
      }
    }
  }
}

}  // namespace
}  // namespace vitrine::tokenizer
