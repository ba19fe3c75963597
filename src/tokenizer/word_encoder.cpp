#include "tokenizer/word_encoder.h"

#include <algorithm>
#include <utility>

#include "tokenizer/known_patterns.h"

namespace vitrine::tokenizer {
namespace {

// Text that is cut into words at a time, so that it, its masks and the list of words stay in the first-level cache.
constexpr std::size_t kBlockBytes = std::size_t{8} << 10;

using ShortWords = IdCache::ShortWords;
using LongWords = IdCache::LongWords;
// What may be read from the beginning of any word on.
constexpr std::size_t kReadableBytes = LongWords::kMaxBytes + 1;

// A text of which kReadableBytes may be read from every position: its end is copied to where zeros follow it.
class ReadableText {
 public:
  explicit ReadableText(std::string_view text)
      : data_(text.data()), end_(text.size() - std::min(text.size(), kReadableBytes)) {
    std::copy(text.begin() + static_cast<std::ptrdiff_t>(end_), text.end(), rest_.begin());
  }
  const char* at(std::size_t pos) const { return pos < end_ ? data_ + pos : rest_.data() + (pos - end_); }

 private:
  const char* data_;
  std::size_t end_;
  std::array<char, 2 * kReadableBytes> rest_{};
};

}  // namespace

base::Result<void> WordEncoder::append(std::string_view text, std::vector<TokenId>& ids) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(begin + kBlockBytes, text.size());
    while (end < text.size() && !is_certain_cut(text, end))
      ++end;
    if (auto done = append_block(text.substr(begin, end - begin), ids); !done) return done;
    begin = end;
  }
  return {};
}

base::Result<void> WordEncoder::append_block(std::string_view text, std::vector<TokenId>& ids) {
  words_.clear();
  scan_(text, words_);
  const ReadableText readable(text);
  const std::size_t num_before = ids.size();
  // A token has a byte at least, and a table writes more ids than a word has.
  ids.resize(num_before + text.size() + LongWords::kMaxIds);
  TokenId* out = ids.data() + num_before;
  std::array<Probe, kBatch> probes;
  const auto word = [&](const Range& range) { return text.substr(range.begin, range.end - range.begin); };
  for (std::size_t first = 0; first < words_.size(); first += kBatch) {
    const std::span<const Range> batch = std::span(words_).subspan(first, std::min(kBatch, words_.size() - first));
    if (cache_ != nullptr) {
      for (std::size_t i = 0; i < batch.size(); ++i)
        prepare(word(batch[i]), readable.at(batch[i].begin), probes[i]);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (auto done = append_word(word(batch[i]), probes[i], out); !done) return done;
    }
  }
  ids.resize(static_cast<std::size_t>(out - ids.data()));
  expect_new_words(text.size());
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

inline void WordEncoder::prepare(std::string_view word, const char* readable, Probe& probe) const {
  if (word.size() <= ShortWords::kMaxBytes) {
    probe.short_key = ShortWords::key_of(readable, word.size());
    probe.place = cache_->short_words.place_of(probe.short_key);
    cache_->short_words.prefetch(probe.place);
  } else if (word.size() <= LongWords::kMaxBytes) {
    probe.long_key = LongWords::key_of(readable, word.size());
    probe.place = cache_->long_words.place_of(probe.long_key);
    cache_->long_words.prefetch(probe.place);
  }
}

inline base::Result<void> WordEncoder::append_word(std::string_view word, const Probe& probe, TokenId*& out) {
  if (cache_ == nullptr || word.size() > LongWords::kMaxBytes) return append_new(word, out);
  const bool is_short = word.size() <= ShortWords::kMaxBytes;
  const std::size_t num_found = is_short ? cache_->short_words.find(probe.short_key, probe.place, out)
                                         : cache_->long_words.find(probe.long_key, probe.place, out);
  out += num_found;
  if (num_found > 0) return {};
  const TokenId* const first = out;
  if (auto done = append_new(word, out); !done) return done;
  const std::span<const TokenId> ids(first, out);
  if (is_short && ids.size() <= ShortWords::kMaxIds) cache_->short_words.keep(probe.short_key, probe.place, ids);
  if (!is_short && ids.size() <= LongWords::kMaxIds) cache_->long_words.keep(probe.long_key, probe.place, ids);
  return {};
}

base::Result<void> WordEncoder::append_new(std::string_view word, TokenId*& out) {
  symbols_.clear();
  new_bytes_ += word.size();
  if (auto done = model_.encode(word, scratch_, symbols_); !done) return done;
  out = std::ranges::transform(symbols_, out, &Symbol::id).out;
  return {};
}

}  // namespace vitrine::tokenizer
