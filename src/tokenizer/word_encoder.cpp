#include "tokenizer/word_encoder.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/known_patterns.h"

namespace vitrine::tokenizer {
namespace {

// Text that is cut into words at a time, so that it, its masks and the list of words stay in the first-level cache.
constexpr std::size_t kBlockBytes = std::size_t{8} << 10;
// The first time less, to see what kind of text it is.
constexpr std::size_t kFirstBlockBytes = std::size_t{1} << 10;

using ShortWords = IdCache::ShortWords;
using LongWords = IdCache::LongWords;
// What may be read from the beginning of any word on.
constexpr std::size_t kReadableBytes = LongWords::kMaxBytes + 1;

}  // namespace

// A text of which kReadableBytes may be read from every position: its end is copied to where zeros follow it.
class WordEncoder::ReadableText {
 public:
  explicit ReadableText(std::string_view text)
      : text_(text), end_(text.size() - std::min(text.size(), kReadableBytes)) {
    std::copy(text.begin() + static_cast<std::ptrdiff_t>(end_), text.end(), rest_.begin());
  }
  std::string_view view(const Range& range) const { return text_.substr(range.begin, range.end - range.begin); }
  const char* at(std::size_t pos) const { return pos < end_ ? text_.data() + pos : rest_.data() + (pos - end_); }

 private:
  std::string_view text_;
  std::size_t end_;
  std::array<char, 2 * kReadableBytes> rest_{};
};

base::Result<void> WordEncoder::append(std::string_view text, std::vector<TokenId>& ids) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = next_certain_cut(text, begin + (begin == 0 ? kFirstBlockBytes : kBlockBytes));
    if (auto done = append_block(text.substr(begin, end - begin), ids); !done) return done;
    begin = end;
  }
  return {};
}

void WordEncoder::find_words(std::string_view text) {
  words_.clear();
  if (steps_[0].covers_all) {
    steps_[0].scan(text, words_);
  } else {
    words_.push_back({0, static_cast<std::uint32_t>(text.size())});
    cut_words(text, steps_[0].scan);
  }
  for (std::size_t i = 1; i < steps_.size(); ++i)
    cut_words(text, steps_[i].scan);
}

// Each word into the matches of its own text and what lies between them.
void WordEncoder::cut_words(std::string_view text, ScanFunction scan) {
  pieces_.swap(words_);
  words_.clear();
  for (const Range& piece : pieces_) {
    matches_.clear();
    scan(text.substr(piece.begin, piece.end - piece.begin), matches_);
    append_isolated(matches_, piece, words_);
  }
}

base::Result<void> WordEncoder::append_block(std::string_view text, std::vector<TokenId>& ids) {
  find_words(text);
  const ReadableText readable(text);
  const std::size_t num_before = ids.size();
  // A token has a byte at least, and a table writes more ids than a word has.
  ids.resize(num_before + text.size() + LongWords::kMaxIds);
  TokenId* out = ids.data() + num_before;
  std::array<Probe, kBatch> probes;
  for (std::size_t first = 0; first < words_.size(); first += kBatch) {
    const std::span<const Range> batch = std::span(words_).subspan(first, std::min(kBatch, words_.size() - first));
    for (std::size_t i = 0; i < batch.size() && cache_ != nullptr; ++i)
      prepare(batch[i], readable, probes[i]);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (auto done = append_word(batch[i], readable, probes[i], out); !done) return done;
    }
  }
  ids.resize(static_cast<std::size_t>(out - ids.data()));
  expect_new_words(text.size());
  look_for_borders(text.size());
  return {};
}

// New words become rarer: three quarters of the share that the last blocks had of them is a guess.
void WordEncoder::expect_new_words(std::size_t block_bytes) {
  constexpr double kWeight = 0.25, kShareToCome = 0.75;
  bytes_to_come_ -= std::min(bytes_to_come_, block_bytes);
  const double share = static_cast<double>(new_bytes_) / static_cast<double>(block_bytes);
  new_share_ += kWeight * (share - new_share_);
  model_.expect(static_cast<std::size_t>(kShareToCome * new_share_ * static_cast<double>(bytes_to_come_)));
  new_bytes_ = 0;
}

// What is to come is taken for as the block was.
void WordEncoder::look_for_borders(std::size_t block_bytes) {
  if (borders_ == nullptr && divisible_bytes_ > 0) {
    borders_ = model_.borders(divisible_bytes_, bytes_to_come_ / block_bytes * divisible_bytes_);
  }
  divisible_bytes_ = 0;
}

inline void WordEncoder::prepare(Range word, const ReadableText& text, Probe& probe) const {
  const std::size_t size = word.end - word.begin;
  if (size <= ShortWords::kMaxBytes) {
    probe.short_key = ShortWords::key_of(text.at(word.begin), size);
    probe.place = cache_->short_words.place_of(probe.short_key);
    cache_->short_words.prefetch(probe.place);
  } else if (size <= LongWords::kMaxBytes) {
    probe.long_key = LongWords::key_of(text.at(word.begin), size);
    probe.place = cache_->long_words.place_of(probe.long_key);
    cache_->long_words.prefetch(probe.place);
  }
}

inline base::Result<void> WordEncoder::append_word(Range word, const ReadableText& text, const Probe& probe,
                                                   TokenId*& out) {
  const auto append_unknown = [&] { return append_new(word, text, out); };
  const std::size_t size = word.end - word.begin;
  if (cache_ == nullptr || size > LongWords::kMaxBytes) return append_unknown();
  if (size <= ShortWords::kMaxBytes) {
    return append_kept(cache_->short_words, probe.short_key, probe.place, out, append_unknown);
  }
  return append_kept(cache_->long_words, probe.long_key, probe.place, out, append_unknown);
}

// From the table, or as append_unknown() does it, and then kept.
template <typename Table, typename AppendUnknown>
inline base::Result<void> WordEncoder::append_kept(Table& table, const typename Table::Key& key, std::size_t place,
                                                   TokenId*& out, AppendUnknown append_unknown) {
  const std::size_t num_found = table.find(key, place, out);
  out += num_found;
  if (num_found > 0) return {};
  const TokenId* const first = out;
  if (auto done = append_unknown(); !done) return done;
  const std::span<const TokenId> ids(first, out);
  if (ids.size() <= Table::kMaxIds) table.keep(key, place, ids);
  return {};
}

base::Result<void> WordEncoder::append_new(Range word, const ReadableText& text, TokenId*& out) {
  const std::string_view bytes = text.view(word);
  if (SureBorders::may_divide(bytes)) {
    divisible_bytes_ += bytes.size();
    if (borders_ != nullptr) return append_divided(word, text, out);
  }
  return append_encoded(&Model::encode, bytes, out);
}

base::Result<void> WordEncoder::append_encoded(Encode encode, std::string_view text, TokenId*& out) {
  symbols_.clear();
  new_bytes_ += text.size();
  if (auto done = (model_.*encode)(text, scratch_, symbols_); !done) return done;
  out = std::ranges::transform(symbols_, out, &Symbol::id).out;
  return {};
}

// A word without a sure border is encoded as any other.
base::Result<void> WordEncoder::append_divided(Range word, const ReadableText& text, TokenId*& out) {
  const std::string_view bytes = text.view(word);
  std::size_t length = 0, begin = 0;
  char32_t previous = base::decode_valid_utf8(bytes.data(), length);
  char32_t first = previous;  // of the part
  for (std::size_t pos = length; pos < bytes.size(); pos += length) {
    const char32_t character = base::decode_valid_utf8(bytes.data() + pos, length);
    if (borders_->between(previous, character)) {
      if (auto done = append_part(bytes.substr(begin, pos - begin), first, text.at(word.begin + begin), out); !done) {
        return done;
      }
      begin = pos;
      first = character;
    }
    previous = character;
  }
  if (begin == 0) return append_encoded(&Model::encode, bytes, out);
  return append_part(bytes.substr(begin), first, text.at(word.begin + begin), out);
}

inline base::Result<void> WordEncoder::append_part(std::string_view part, char32_t first, const char* readable,
                                                   TokenId*& out) {
  const auto append_unknown = [&] { return append_encoded(&Model::encode_part, part, out); };
  if (part.size() == SureBorders::kCharacterBytes && part.size() == base::utf8_length(part[0])) {
    const std::size_t num_found = borders_->find(first, out);
    out += num_found;
    if (num_found > 0) return {};
    const TokenId* const begin = out;
    if (auto done = append_unknown(); !done) return done;
    borders_->keep(first, {begin, out});
    return {};
  }
  if (cache_ == nullptr || part.size() > LongWords::kMaxPartBytes) return append_unknown();
  const auto append_from = [&](auto& table, const auto& key) {
    return append_kept(table, key, table.place_of(key), out, append_unknown);
  };
  if (part.size() <= ShortWords::kMaxPartBytes) {
    return append_from(cache_->short_words, ShortWords::part_key_of(readable, part.size()));
  }
  return append_from(cache_->long_words, LongWords::part_key_of(readable, part.size()));
}

}  // namespace vitrine::tokenizer
