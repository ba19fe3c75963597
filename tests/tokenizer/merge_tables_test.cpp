#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tokenizer/known_pairs.h"
#include "tokenizer/merge_reader.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/token_trie.h"

namespace vitrine::tokenizer {
namespace {

using IdPair = std::pair<TokenId, TokenId>;

TokenId random_id(std::mt19937& random, TokenId end) {
  return static_cast<TokenId>(random() % static_cast<std::uint32_t>(end));
}

TEST(MergeTable, FindsWhatAMapFindsAndKeepsTheFirstRankOfAPair) {
  std::mt19937 random(1);
  for (const std::size_t expected : {0u, 100u, 100'000u}) {
    MergeTable table(expected);
    std::map<IdPair, std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < 20'000; ++rank) {
      const IdPair pair = {random_id(random, 200), random_id(random, Vocabulary::kMaxId)};
      table.insert(pair.first, pair.second, {rank, static_cast<TokenId>(rank)});
      ranks.emplace(pair, rank);
    }
    EXPECT_EQ(table.size(), ranks.size());
    for (const auto& [pair, rank] : ranks)
      ASSERT_EQ(table.find({pair.first, 0}, {pair.second, 0}).rank, rank);
    for (int i = 0; i < 20'000; ++i) {
      const IdPair pair = {random_id(random, 200), random_id(random, Vocabulary::kMaxId)};
      ASSERT_EQ(table.find({pair.first, 0}, {pair.second, 0}).merged >= 0, ranks.contains(pair));
    }
  }
}

TEST(MergeTable, GivesItsPairsByRankHoweverTheyCame) {
  std::mt19937 random(2);
  for (const std::uint32_t max_rank : {10u, 1'000u, 4'000'000'000u}) {
    MergeTable table;
    for (TokenId id = 0; id < 1'000; ++id)
      table.insert(id, id + 1, {static_cast<std::uint32_t>(random() % max_rank), id});
    std::vector<MergeTable::Pair> room;
    const auto pairs = table.in_order(room);
    ASSERT_EQ(pairs.size(), 1'000u);
    EXPECT_TRUE(std::ranges::is_sorted(pairs, {}, [](const auto& pair) { return pair.merge.rank; }));
  }
}

TEST(PairTable, TellsTheTimesOfItsPairsAndNothingElse) {
  std::mt19937 random(3);
  PairTable table(5'000);
  std::map<IdPair, std::uint32_t> times;
  while (times.size() < 5'000) {
    const IdPair pair = {random_id(random, PairTable::kMaxId + 1), random_id(random, 50)};
    const auto time = static_cast<std::uint32_t>(1 + random() % (PairTable::kNever - 1));
    if (times.emplace(pair, time).second) table.insert(pair.first, pair.second, time);
  }
  for (const auto& [pair, time] : times)
    ASSERT_EQ(table.find(pair.first, pair.second), time);
  for (int i = 0; i < 20'000; ++i) {
    const IdPair pair = {random_id(random, PairTable::kMaxId + 1), random_id(random, 50)};
    ASSERT_EQ(table.find(pair.first, pair.second) != PairTable::kNever, times.contains(pair));
  }
}

// More pairs than places: an answer is lost or right.
TEST(KnownPairs, NeverAnswersForAnotherPair) {
  std::mt19937 random(4);
  KnownPairs known;
  EXPECT_FALSE(known.find(0, 0));
  std::map<IdPair, bool> answers;
  for (int i = 0; i < 500'000; ++i) {
    const IdPair pair = {random_id(random, KnownPairs::kMaxId + 1), random_id(random, 1'000)};
    const bool answer = random() % 2 == 0;
    answers[pair] = answer;
    known.keep(pair.first, pair.second, answer);
  }
  std::size_t num_known = 0;
  for (const auto& [pair, answer] : answers) {
    const auto found = known.find(pair.first, pair.second);
    ASSERT_EQ(found.value_or(answer), answer);
    num_known += found ? 1 : 0;
  }
  EXPECT_GT(num_known, 50'000u);
}

struct TrieOfTexts {
  std::vector<std::string> texts;
  TokenTrie trie;

  explicit TrieOfTexts(std::vector<std::string> of) : texts(std::move(of)) {
    std::string bytes;
    std::vector<TokenTrie::Entry> entries;
    for (std::size_t id = 0; id < texts.size(); ++id) {
      entries.push_back({static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(texts[id].size()),
                         static_cast<TokenId>(id)});
      bytes += texts[id];
    }
    bytes.append(TokenTrie::kPadding, '\0');
    EXPECT_TRUE(trie.build(bytes, entries));
  }
  TokenId longest_beginning(std::string_view text) const {
    TokenId best = -1;
    for (std::size_t id = 0; id < texts.size(); ++id) {
      const bool longer = best < 0 || texts[id].size() > texts[static_cast<std::size_t>(best)].size();
      if (longer && text.starts_with(texts[id])) best = static_cast<TokenId>(id);
    }
    return best;
  }
};

// Bytes of characters of one to four bytes, and of none: few values, so that texts share beginnings.
std::string random_bytes(std::mt19937& random, std::size_t max_size) {
  constexpr std::string_view kBytes(
      "\x00"
      "ab\x80\x81\xBF\xC3\xE4\xE5\xEF\xF0\xFF",
      12);
  std::string text(1 + random() % max_size, 'a');
  for (char& byte : text)
    byte = kBytes[random() % kBytes.size()];
  return text;
}

TEST(TokenTrie, FindsTheLongestTokenThatATextBeginsWith) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 300; ++i)
      texts.push_back(random_bytes(random, 12));
    if (round % 2 == 0) {  // more children than are looked through one by one
      for (int byte = 0; byte < 200; ++byte)
        texts.push_back("\xE4\x80" + std::string(1, static_cast<char>(byte)));
    }
    std::ranges::sort(texts);
    texts.erase(std::ranges::unique(texts).begin(), texts.end());
    const TrieOfTexts of(texts);
    for (int i = 0; i < 2'000; ++i) {
      const std::string text = i % 3 == 0 ? texts[random() % texts.size()] : random_bytes(random, 14);
      const TokenTrie::Match match = of.trie.longest(text);
      ASSERT_EQ(match.id, of.longest_beginning(text));
      if (match.id < 0) continue;
      const std::string& token = texts[static_cast<std::size_t>(match.id)];
      ASSERT_EQ(match.length, token.size());
      const TokenTrie::Match shorter = of.trie.shorter(match.id);
      ASSERT_EQ(shorter.id, of.longest_beginning(std::string_view(token).substr(0, token.size() - 1)));
      ASSERT_EQ(shorter.length, shorter.id < 0 ? 0 : texts[static_cast<std::size_t>(shorter.id)].size());
    }
  }
}

Vocabulary vocabulary_of(const std::vector<std::string>& pieces) {
  Vocabulary vocabulary;
  for (std::size_t id = 0; id < pieces.size(); ++id)
    EXPECT_TRUE(vocabulary.add(static_cast<TokenId>(id), pieces[id]));
  return vocabulary;
}

TEST(MergeReader, ResolvesMergesOfAnyNumberInTheOrderOfTheirRanks) {
  std::vector<std::string> pieces = {"a"};
  while (pieces.size() < 101)
    pieces.push_back(pieces.back() + "a");
  const Vocabulary vocabulary = vocabulary_of(pieces);
  MergeTable table;
  MergeReader reader("merges", vocabulary, table);
  for (std::size_t i = 0; i < 100; ++i)
    ASSERT_TRUE(reader.add({pieces[i], "a"}));
  ASSERT_TRUE(reader.finish());
  for (TokenId id = 0; id < 100; ++id) {
    const Merge merge = table.find({id, 0}, {0, 0});
    EXPECT_EQ(merge.rank, static_cast<std::uint32_t>(id));
    EXPECT_EQ(merge.merged, id + 1);
  }
}

std::string error_of(const Vocabulary& vocabulary, NamedMerge broken, std::size_t prefix_bytes = 0) {
  MergeTable table;
  MergeReader reader("model.merges", vocabulary, table, prefix_bytes);
  EXPECT_TRUE(reader.add({"a", "b"}));
  EXPECT_TRUE(reader.add(broken));
  EXPECT_TRUE(reader.add({"a", "b"}));
  const auto done = reader.finish();
  return done ? "" : done.error().message;
}

TEST(MergeReader, NamesTheMergeAndWhatIsMissing) {
  const Vocabulary vocabulary = vocabulary_of({"a", "b", "ab"});
  EXPECT_EQ(error_of(vocabulary, {"x", "b"}), "model.merges[1]: \"x\" is not in the vocabulary");
  EXPECT_EQ(error_of(vocabulary, {"a", "y"}), "model.merges[1]: \"y\" is not in the vocabulary");
  EXPECT_EQ(error_of(vocabulary, {"b", "a"}), "model.merges[1]: \"ba\" is not in the vocabulary");
  EXPECT_EQ(error_of(vocabulary, {"", "a"}), "model.merges[1]: a merge needs two texts that are not empty");
  EXPECT_EQ(error_of(vocabulary_of({"a", "b", "ab", "##b", "a##"}), {"a##", "b"}, 0),
            "model.merges[1]: \"a##b\" is not in the vocabulary");
}

TEST(MergeReader, RefusesARightSideThatIsNoMoreThanThePrefix) {
  const Vocabulary vocabulary = vocabulary_of({"a", "##", "##b", "ab"});
  MergeTable table;
  MergeReader reader("model.merges", vocabulary, table, 2);
  EXPECT_TRUE(reader.add({"a", "##b"}));
  EXPECT_TRUE(reader.add({"a", "##"}));
  const auto done = reader.finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "model.merges[1]: a merge's right side is no longer than the prefix");
}

}  // namespace
}  // namespace vitrine::tokenizer
