#include "tokenizer/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/flat_map.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {
namespace {

constexpr auto kMostMerges = static_cast<std::size_t>(Vocabulary::kMaxId);
constexpr std::uint32_t kNoList = std::numeric_limits<std::uint32_t>::max();

// Spellings by id, and ids by spelling.
class Pieces {
 public:
  // The id of `piece`, which is put behind the others if it is new.
  TokenId add(const std::string& piece) {
    const auto [found, is_new] = ids_.emplace(piece, static_cast<TokenId>(pieces_.size()));
    if (is_new) pieces_.push_back(piece);
    return found->second;
  }
  const std::string& operator[](TokenId id) const { return pieces_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return pieces_.size(); }
  std::vector<std::string> take() { return std::move(pieces_); }

 private:
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, TokenId> ids_;
};

// What the words are made of before anything is merged: bytes, or characters, as ids.
class FirstSymbols {
 public:
  static FirstSymbols of_bytes(Pieces& pieces) {
    FirstSymbols alphabet;
    std::vector<std::string> bytes;
    for (unsigned byte = 0; byte < 256; ++byte)
      bytes.emplace_back(1, static_cast<char>(byte));
    alphabet.add(bytes, pieces);
    return alphabet;
  }
  static FirstSymbols of_characters(const WordCounts& words, Pieces& pieces) {
    std::set<std::string> characters;
    for (std::size_t i = 0; i < words.num_distinct(); ++i)
      for_each_character(words.word(i), [&](std::string_view character) { characters.emplace(character); });
    FirstSymbols alphabet;
    alphabet.is_of_bytes_ = false;
    alphabet.add({characters.begin(), characters.end()}, pieces);
    return alphabet;
  }

  void append(std::string_view word, std::vector<TokenId>& symbols) const {
    if (is_of_bytes_) {
      for (const char byte : word)
        symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    } else {
      for_each_character(
          word, [&](std::string_view character) { symbols.push_back(character_ids_.at(std::string(character))); });
    }
  }

 private:
  template <typename Take>
  static void for_each_character(std::string_view text, Take take) {
    for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
      length = std::min(base::utf8_length(text[0]), text.size());
      take(text.substr(0, length));
    }
  }

  void add(std::vector<std::string> units, Pieces& pieces) {
    // UTF-8 sorts as its code points do: bytes by those of their spelling, characters by their own.
    if (is_of_bytes_) std::ranges::sort(units, {}, [](const std::string& unit) { return spelling_of_bytes(unit); });
    for (const std::string& unit : units) {
      const TokenId id = pieces.add(spelling_of_bytes(unit));
      if (is_of_bytes_) byte_ids_[static_cast<unsigned char>(unit[0])] = id;
      if (!is_of_bytes_) character_ids_.emplace(unit, id);
    }
  }

  bool is_of_bytes_ = true;
  std::array<TokenId, 256> byte_ids_{};
  std::unordered_map<std::string, TokenId> character_ids_;
};

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
}

// A pair that waits to be merged in the words where one step found it new. A pair whose token two different merges can
// make may wait more than once.
struct Candidate {
  std::int64_t count = 0;  // when it was put in, or looked at last
  std::uint64_t pair = 0;
  std::uint32_t born = 0;  // the step
  std::uint32_t words = kNoList;

  // The order of a heap with the next merge on top.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.count != b.count) return a.count < b.count;
    if (a.pair != b.pair) return a.pair > b.pair;
    return a.born > b.born;
  }
};

// Lists of words, of which used up ones give their memory back.
class WordLists {
 public:
  std::uint32_t make() {
    if (free_.empty()) {
      lists_.emplace_back();
      return static_cast<std::uint32_t>(lists_.size() - 1);
    }
    const std::uint32_t list = free_.back();
    free_.pop_back();
    return list;
  }
  // Words come in increasing order.
  void append(std::uint32_t list, std::uint32_t word) {
    if (lists_[list].empty() || lists_[list].back() != word) lists_[list].push_back(word);
  }
  std::vector<std::uint32_t> take(std::uint32_t list) {
    free_.push_back(list);
    return std::exchange(lists_[list], {});
  }
  // Puts the words of `from` into `list`.
  void unite(std::uint32_t list, std::uint32_t from) {
    const std::vector<std::uint32_t> more = take(from);
    std::vector<std::uint32_t>& all = lists_[list];
    all.insert(all.end(), more.begin(), more.end());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }

 private:
  std::vector<std::vector<std::uint32_t>> lists_;
  std::vector<std::uint32_t> free_;
};

// What one merge changes on one side of the new token, by the neighbour there: how often a pair of the neighbour with
// the old token became one with the new token, and in which words. Dense, so that a step asks the table of pairs once
// per neighbour and not once per place.
class Neighbours {
 public:
  explicit Neighbours(std::size_t num_ids) : moved_(num_ids), list_(num_ids, kNoList) {}

  void move(TokenId neighbour, std::uint32_t word, std::int64_t times, WordLists& lists) {
    const auto i = static_cast<std::size_t>(neighbour);
    if (moved_[i] == 0) {
      touched_.push_back(neighbour);
      list_[i] = lists.make();
    }
    moved_[i] += times;
    lists.append(list_[i], word);
  }
  std::int64_t moved(TokenId neighbour) const { return moved_[static_cast<std::size_t>(neighbour)]; }
  std::uint32_t& list(TokenId neighbour) { return list_[static_cast<std::size_t>(neighbour)]; }
  const std::vector<TokenId>& touched() const { return touched_; }
  void clear() {
    for (const TokenId neighbour : touched_)
      moved_[static_cast<std::size_t>(neighbour)] = 0;
    touched_.clear();
  }

 private:
  std::vector<std::int64_t> moved_;
  std::vector<std::uint32_t> list_;
  std::vector<TokenId> touched_;
};

// The words as symbols, the counts of all pairs and the queue of merges. The counts are kept as the reference keeps
// them: what is merged is not taken off the count of its pair, since no place of it is left.
class MergeLoop {
 public:
  MergeLoop(const WordCounts& words, const FirstSymbols& alphabet, const BpeTraining& training)
      : min_count_(std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                 training.min_frequency, std::numeric_limits<std::int64_t>::max())))),
        left_(training.vocab_size),
        right_(training.vocab_size) {
    read_words(words, alphabet);
    count_pairs();
  }

  // The pair to merge next; none where every pair is too rare.
  std::optional<Candidate> next() {
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end());
      Candidate top = queue_.back();
      queue_.pop_back();
      const std::int64_t count = *pair_counts_.find(top.pair);
      if (top.count == count) return top;
      top.count = count;
      push(top);
    }
    return std::nullopt;
  }

  void merge(const Candidate& candidate, TokenId merged) {
    const auto left = static_cast<TokenId>(candidate.pair >> 32);
    const auto right = static_cast<TokenId>(candidate.pair & 0xFFFFFFFFu);
    ++step_;
    for (const std::uint32_t word : lists_.take(candidate.words))
      merge_in_word(word, left, right, merged);
    if (left_.moved(merged) != 0 && right_.moved(merged) != 0) {  // both are of the pair of the new token with itself
      lists_.unite(left_.list(merged), std::exchange(right_.list(merged), kNoList));
    }
    for (const TokenId neighbour : left_.touched()) {
      pair_counts_.insert(pair_key(neighbour, left), 0) -= left_.moved(neighbour);
      pair_counts_.insert(pair_key(neighbour, merged), 0) += left_.moved(neighbour);
    }
    for (const TokenId neighbour : right_.touched()) {
      pair_counts_.insert(pair_key(right, neighbour), 0) -= right_.moved(neighbour);
      pair_counts_.insert(pair_key(merged, neighbour), 0) += right_.moved(neighbour);
    }
    for (const TokenId neighbour : left_.touched())
      push_new(pair_key(neighbour, merged), left_.list(neighbour));
    for (const TokenId neighbour : right_.touched())
      push_new(pair_key(merged, neighbour), right_.list(neighbour));
    left_.clear();
    right_.clear();
  }

  std::uint64_t num_tokens() const { return num_tokens_; }

 private:
  struct Word {
    std::size_t begin = 0;
    std::int64_t times = 0;
    std::uint32_t length = 0;
  };

  void read_words(const WordCounts& words, const FirstSymbols& alphabet) {
    words_.reserve(words.num_distinct());
    symbols_.reserve(words.num_distinct_bytes());
    for (std::size_t i = 0; i < words.num_distinct(); ++i) {
      const std::size_t begin = symbols_.size();
      alphabet.append(words.word(i), symbols_);
      const auto length = static_cast<std::uint32_t>(symbols_.size() - begin);
      words_.push_back({begin, static_cast<std::int64_t>(words.times(i)), length});
      num_tokens_ += words.times(i) * length;
    }
  }

  void count_pairs() {
    FlatMap<std::uint32_t> lists;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
      const TokenId* const symbols = symbols_.data() + words_[i].begin;
      for (std::size_t k = 0; k + 1 < words_[i].length; ++k) {
        const std::uint64_t pair = pair_key(symbols[k], symbols[k + 1]);
        std::uint32_t& list = lists.insert(pair, kNoList);
        if (list == kNoList) found.emplace_back(pair, list = lists_.make());
        lists_.append(list, i);
        pair_counts_.insert(pair, 0) += words_[i].times;
      }
    }
    for (const auto& [pair, list] : found)
      push_new(pair, list);
  }

  void merge_in_word(std::uint32_t index, TokenId left, TokenId right, TokenId merged) {
    Word& word = words_[index];
    TokenId* const symbols = symbols_.data() + word.begin;
    std::uint32_t num_kept = 0;
    for (std::uint32_t i = 0; i < word.length; ++i) {
      const bool is_pair = symbols[i] == left && i + 1 < word.length && symbols[i + 1] == right;
      if (!is_pair) {
        symbols[num_kept++] = symbols[i];
        continue;
      }
      if (num_kept > 0) left_.move(symbols[num_kept - 1], index, word.times, lists_);
      if (i + 2 < word.length) right_.move(symbols[i + 2], index, word.times, lists_);
      symbols[num_kept++] = merged;
      ++i;
    }
    num_tokens_ -= static_cast<std::uint64_t>(word.times) * (word.length - num_kept);
    word.length = num_kept;
  }

  void push_new(std::uint64_t pair, std::uint32_t list) {
    if (list != kNoList) push({*pair_counts_.find(pair), pair, step_, list});
  }

  // A pair that is too rare waits for nothing: its count rises only with places that come with a candidate of theirs.
  void push(const Candidate& candidate) {
    if (candidate.count < min_count_) {
      lists_.take(candidate.words);
      return;
    }
    queue_.push_back(candidate);
    std::push_heap(queue_.begin(), queue_.end());
  }

  std::int64_t min_count_;
  std::vector<TokenId> symbols_;
  std::vector<Word> words_;
  FlatMap<std::int64_t> pair_counts_;
  WordLists lists_;
  std::vector<Candidate> queue_;  // a heap
  Neighbours left_, right_;
  std::uint64_t num_tokens_ = 0;
  std::uint32_t step_ = 0;
};

// A pair that was merged twice counts where it was merged last, as a table by pair that is filled in order holds it.
void keep_last_of_equal(std::vector<TrainedMerge>& merges) {
  FlatMap<char> seen(merges.size());
  std::vector<TrainedMerge> kept;
  for (auto merge = merges.rbegin(); merge != merges.rend(); ++merge) {
    const std::uint64_t pair = pair_key(merge->left, merge->right);
    if (seen.contains(pair)) continue;
    seen.insert(pair, 1);
    kept.push_back(*merge);
  }
  std::ranges::reverse(kept);
  merges = std::move(kept);
}

base::Result<void> check(const BpeTraining& training, std::size_t num_first_pieces) {
  if (training.vocab_size > static_cast<std::size_t>(Vocabulary::kMaxId) + 1) {
    return base::usage_error(fmt::format("a vocabulary of {} tokens is more than {}", training.vocab_size,
                                         static_cast<std::size_t>(Vocabulary::kMaxId) + 1));
  }
  if (training.vocab_size >= num_first_pieces) return {};
  const std::size_t num_special = training.special_tokens.size();
  return base::usage_error(fmt::format("a vocabulary of {} tokens has no room for the {} and {} special tokens",
                                       training.vocab_size,
                                       training.from_characters ? "characters of the text" : "256 bytes", num_special));
}

std::string bytes_of(const std::string& piece) {
  return bytes_of_spelling(piece).value_or(piece);
}

}  // namespace

base::Result<TrainedBpe> train_bpe(const WordCounts& words, const BpeTraining& asked, TrainingObserver& observer) {
  TrainedBpe result;
  Pieces pieces;
  for (const std::string& token : asked.special_tokens) {
    const TokenId id = pieces.add(token);
    if (static_cast<std::size_t>(id) == result.special_ids.size()) result.special_ids.push_back(id);
  }
  const FirstSymbols alphabet =
      asked.from_characters ? FirstSymbols::of_characters(words, pieces) : FirstSymbols::of_bytes(pieces);
  BpeTraining training = asked;
  if (asked.num_merges) training.vocab_size = pieces.size() + std::min(*asked.num_merges, kMostMerges);
  if (auto checked = check(training, pieces.size()); !checked) return std::move(checked).error();

  MergeLoop loop(words, alphabet, training);
  const std::size_t num_first_pieces = pieces.size();
  result.num_bytes = words.num_bytes();
  result.num_tokens = loop.num_tokens();
  while (pieces.size() < training.vocab_size) {
    observer.merged(pieces.size() - num_first_pieces, training.vocab_size - num_first_pieces, result.bytes_per_token());
    if (observer.cancelled()) return base::Error{base::ErrorKind::kInterrupted, "training: interrupted"};
    const std::optional<Candidate> top = loop.next();
    if (!top) break;
    const TrainedMerge merge{static_cast<TokenId>(top->pair >> 32), static_cast<TokenId>(top->pair & 0xFFFFFFFFu)};
    result.merges.push_back(merge);
    const TokenId merged = pieces.add(pieces[merge.left] + pieces[merge.right]);
    loop.merge(*top, merged);
    result.num_tokens = loop.num_tokens();
    observer.merge_made({bytes_of(pieces[merge.left]), bytes_of(pieces[merge.right]), bytes_of(pieces[merged]),
                         static_cast<std::uint64_t>(top->count), result.num_bytes, result.num_tokens});
  }
  keep_last_of_equal(result.merges);
  result.pieces = pieces.take();
  return result;
}

}  // namespace vitrine::tokenizer
