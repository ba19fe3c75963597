#include "tokenizer/bpe_trainer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tokenizer/corpus_counter.h"
#include "tokenizer/pattern.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trained_tokenizer.h"

namespace vitrine::tokenizer {
namespace {

namespace fs = std::filesystem;

TrainingObserver no_observer;

WordCounts count(const std::map<std::string, std::uint64_t>& words) {
  WordCounts counts;
  for (const auto& [word, times] : words)
    counts.add(word, times);
  return counts;
}

std::vector<std::string> merge_names(const TrainedBpe& trained) {
  std::vector<std::string> names;
  for (const TrainedMerge& merge : trained.merges) {
    names.push_back(trained.pieces[static_cast<std::size_t>(merge.left)] + " " +
                    trained.pieces[static_cast<std::size_t>(merge.right)]);
  }
  return names;
}

TrainedBpe train(const WordCounts& words, std::size_t num_merges, std::uint64_t min_frequency) {
  return train_bpe(words, {256 + num_merges, min_frequency, {}}, no_observer).value_or_throw();
}

// Counts all pairs anew for every merge.
class NaiveTrainer {
 public:
  explicit NaiveTrainer(const WordCounts& counts) {
    for (std::size_t i = 0; i < counts.num_distinct(); ++i) {
      std::vector<TokenId> symbols;
      for (const char byte : counts.word(i))
        symbols.push_back(static_cast<unsigned char>(byte));
      words_.emplace_back(symbols, counts.times(i));
    }
  }

  std::vector<TrainedMerge> train(std::size_t num_merges, std::uint64_t min_frequency) {
    std::vector<TrainedMerge> merges;
    for (TokenId merged = 256; merges.size() < num_merges; ++merged) {
      std::map<std::pair<TokenId, TokenId>, std::uint64_t> pairs;
      for (const auto& [symbols, times] : words_) {
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
          pairs[{symbols[i], symbols[i + 1]}] += times;
      }
      auto best = pairs.begin();
      for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
        if (pair->second > best->second) best = pair;
      }
      if (pairs.empty() || best->second < min_frequency) return merges;
      merges.push_back({best->first.first, best->first.second});
      for (auto& [symbols, times] : words_)
        merge(symbols, merges.back(), merged);
    }
    return merges;
  }

 private:
  static void merge(std::vector<TokenId>& symbols, TrainedMerge pair, TokenId merged) {
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (symbols[i] != pair.left || symbols[i + 1] != pair.right) continue;
      symbols[i] = merged;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  std::vector<std::pair<std::vector<TokenId>, std::uint64_t>> words_;
};

TEST(TrainBpe, MergesTheMostFrequentPairFirst) {
  // lo 7, ow 7, we 8, er 2, wes 6, est 9 ...: the example of the paper's section 3.2, without its end-of-word mark.
  const WordCounts words = count({{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}});
  EXPECT_EQ(merge_names(train(words, 4, 2)), (std::vector<std::string>{"e s", "es t", "l o", "lo w"}));
}

TEST(TrainBpe, TakesTheSmallerIdsOfEquallyFrequentPairs) {
  EXPECT_EQ(merge_names(train(count({{"zy", 3}, {"ab", 3}, {"ac", 3}}), 3, 1)),
            (std::vector<std::string>{"a b", "a c", "z y"}));
}

TEST(TrainBpe, MergesRunsFromTheLeft) {
  const TrainedBpe trained = train(count({{"aaaaa", 4}}), 10, 1);
  EXPECT_EQ(merge_names(trained), (std::vector<std::string>{"a a", "aa a", "aa aaa"}));
  EXPECT_EQ(trained.num_tokens, 4u);
  EXPECT_EQ(trained.num_bytes, 20u);
}

TEST(TrainBpe, StopsWherePairsAreTooRare) {
  EXPECT_EQ(merge_names(train(count({{"ab", 2}, {"cd", 1}}), 10, 2)), std::vector<std::string>{"a b"});
  EXPECT_TRUE(train(count({}), 10, 0).merges.empty());
}

TEST(TrainBpe, SpecialTokensComeFirstThenBytesInOrderOfTheirSpelling) {
  const auto trained = train_bpe(count({{"ab", 2}}), {259, 2, {"<s>", "</s>", "<s>"}}, no_observer).value_or_throw();
  EXPECT_EQ(trained.pieces.size(), 259u);
  EXPECT_EQ(trained.pieces[0], "<s>");
  EXPECT_EQ(trained.pieces[1], "</s>");
  EXPECT_EQ(trained.pieces[2], "!");
  EXPECT_EQ(trained.pieces[257], "\u0143");  // byte 0xAD
  EXPECT_EQ(trained.pieces[258], "ab");
  EXPECT_EQ(trained.special_ids, (std::vector<TokenId>{0, 1}));
}

TEST(TrainBpe, RefusesAVocabularyWithoutRoomForTheBytes) {
  const auto trained = train_bpe(count({{"ab", 2}}), {256, 2, {"<s>"}}, no_observer);
  ASSERT_FALSE(trained);
  EXPECT_EQ(trained.error().kind, base::ErrorKind::kUsage);
}

TEST(TrainBpe, EndsWhenCancelled) {
  class Cancels : public TrainingObserver {
    bool cancelled() const override { return true; }
  } observer;
  const auto trained = train_bpe(count({{"ab", 2}}), {300, 2, {}}, observer);
  ASSERT_FALSE(trained);
  EXPECT_EQ(trained.error().kind, base::ErrorKind::kInterrupted);
}

TEST(TrainBpe, GivesWhatCountingAnewGives) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::size_t num_letters = 1 + random() % 4;
    std::map<std::string, std::uint64_t> words;
    for (std::size_t i = random() % 30; i > 0; --i) {
      // Letters, whose ids rise as their bytes do.
      std::string word(1 + random() % 20, 'a');
      for (char& letter : word)
        letter = static_cast<char>('a' + random() % num_letters);
      words[word] += 1 + random() % 5;
    }
    const WordCounts counts = count(words);
    const std::uint64_t min_frequency = 1 + random() % 3;
    const TrainedBpe trained = train(counts, 60, min_frequency);
    std::vector<TrainedMerge> expected = NaiveTrainer(counts).train(60, min_frequency);
    for (TrainedMerge& merge : expected) {  // printable bytes begin with "!" at id 0
      if (merge.left < 256) merge.left -= '!';
      if (merge.right < 256) merge.right -= '!';
    }
    ASSERT_EQ(trained.merges, expected) << "round " << round;
  }
}

// Files that are gone at the end of a test.
class TemporaryFiles {
 public:
  fs::path add(const std::string& text) { return folder_.write(std::to_string(num_files_++), text); }

 private:
  testing::TempDir folder_;
  int num_files_ = 0;
};

WordCounts count_with(std::size_t num_threads, const std::vector<fs::path>& files, const WordSplitting& splitting) {
  base::ThreadPool pool(num_threads);
  return count_files(files, splitting, pool, no_observer).value_or_throw();
}

TrainedBpe train_case(const nlohmann::json& wanted, std::size_t num_threads) {
  TemporaryFiles files;
  const fs::path file = wanted.contains("file") ? testing::data_path(wanted["file"].get<std::string>())
                                                : files.add(wanted["text"].get<std::string>());
  const WordSplitting splitting{known_pattern(wanted["splitter"].get<std::string>()).scan,
                                wanted["by_line"].get<bool>()};
  const BpeTraining training{wanted["vocab_size"], wanted["min_frequency"], wanted["special_tokens"]};
  return train_bpe(count_with(num_threads, {file}, splitting), training, no_observer).value_or_throw();
}

TEST(TrainBpe, GivesTheVocabulariesOfTheReference) {
  const auto data = testing::read_json(testing::data_path("bpe_training.json"));
  for (const auto& wanted : data["cases"]) {
    SCOPED_TRACE(wanted["name"].get<std::string>());
    const TrainedBpe trained = train_case(wanted, 1);
    EXPECT_EQ(merge_names(trained), wanted["merges"].get<std::vector<std::string>>());
    const auto first_pieces = wanted["vocab"].get<std::vector<std::string>>();
    ASSERT_GE(trained.pieces.size(), first_pieces.size());
    EXPECT_TRUE(std::equal(first_pieces.begin(), first_pieces.end(), trained.pieces.begin()));
  }
  testing::count_cases("bpe training", data["cases"].size());
}

// Words and blanks in all mixtures, longer than one piece of work.
std::string long_text(std::mt19937& random) {
  static const std::vector<std::string> parts = {"the", "Fox", " ",  "  ",     "\n",     "\r\n", "42",     "'s",
                                                 "--",  ".",   "\t", "\u4E2D", "\u3000", "\xFF", "\u00E9", "x = y;\n"};
  std::string text;
  while (text.size() < 1'000'000)
    text += parts[random() % parts.size()];
  return text;
}

TEST(CountFiles, CountsTheSameWithAnyNumberOfThreads) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  TemporaryFiles files;
  std::vector<fs::path> paths;
  std::string texts[] = {long_text(random), "", long_text(random)};
  for (const std::string& text : texts)
    paths.push_back(files.add(text));
  for (const bool by_line : {false, true}) {
    const WordSplitting splitting{known_pattern("llama3").scan, by_line};
    WordCounts whole;
    for (const std::string& text : texts)
      count_words(text, splitting, whole);
    const TrainedBpe expected = train(whole, 500, 2);
    for (const std::size_t num_threads : {1, 2, 3}) {
      const WordCounts counts = count_with(num_threads, paths, splitting);
      EXPECT_EQ(counts.num_words(), whole.num_words());
      EXPECT_EQ(counts.num_distinct(), whole.num_distinct());
      EXPECT_EQ(counts.num_bytes(), whole.num_bytes());
      EXPECT_EQ(train(counts, 500, 2).merges, expected.merges);
    }
  }
}

TEST(CountFiles, RefusesWhatHasNoText) {
  TemporaryFiles files;
  base::ThreadPool pool(1);
  const WordSplitting splitting{known_pattern("gpt2").scan, false};
  const auto empty = count_files(std::vector{files.add("")}, splitting, pool, no_observer);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, base::ErrorKind::kBadFile);
  const auto missing = count_files(std::vector<fs::path>{"/nowhere/text"}, splitting, pool, no_observer);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kMissing);
}

TEST(CountWords, TakesBadBytesAsEncodingDoes) {
  WordCounts counts;
  count_words("a\xE4\xB8 b\xFF", {known_pattern("gpt2").scan, false}, counts);
  std::map<std::string, std::uint64_t> words;
  for (std::size_t i = 0; i < counts.num_distinct(); ++i)
    words[std::string(counts.word(i))] = counts.times(i);
  EXPECT_EQ(words, (std::map<std::string, std::uint64_t>{{"a", 1}, {"\uFFFD", 2}, {" b", 1}}));
}

TEST(WordCounts, CountsWhatWasAdded) {
  std::mt19937 random(1);
  std::map<std::string, std::uint64_t> expected;
  WordCounts first, second;
  for (int i = 0; i < 20'000; ++i) {
    std::string word(random() % 20, 'x');
    for (char& letter : word)
      letter = static_cast<char>('a' + random() % 3);
    ++expected[word];
    (i % 2 == 0 ? first : second).add(word);
  }
  first.add_all(second);
  std::map<std::string, std::uint64_t> counted;
  for (std::size_t i = 0; i < first.num_distinct(); ++i)
    counted[std::string(first.word(i))] = first.times(i);
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(first.num_words(), 20'000u);
}

TEST(ToTokenizerJson, IsReadBackAndEncodesAsTheMergesSay) {
  const WordCounts words = count({{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}});
  const auto trained = train_bpe(words, {261, 2, {"<|end|>"}}, no_observer).value_or_throw();
  for (const std::string_view splitter : word_splitters()) {
    const auto read = Tokenizer::from_tokenizer_json(to_tokenizer_json(trained, known_pattern(splitter)), "");
    ASSERT_TRUE(read) << read.error().message;
    const Tokenizer& tokenizer = **read;
    EXPECT_EQ(tokenizer.vocab_size(), trained.pieces.size());
    const auto ids = tokenizer.encode("lowest<|end|>", {}).value_or_throw();
    std::vector<std::string> pieces;
    for (const TokenId id : ids)
      pieces.emplace_back(tokenizer.piece(id));
    EXPECT_EQ(pieces, (std::vector<std::string>{"low", "est", "<|end|>"}));
    EXPECT_EQ(tokenizer.decode(ids), "lowest<|end|>");
    EXPECT_EQ(tokenizer.decode(ids, true), "lowest");
  }
}

}  // namespace
}  // namespace vitrine::tokenizer
