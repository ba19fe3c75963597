#include "tokenizer/encoder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/utf8.h"

namespace vitrine::tokenizer {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
// A stretch shorter than this repeats too few words for the table to be worth clearing.
constexpr std::size_t kMinCachedStretch = 2048;
constexpr std::size_t kNumCachedWords = 4096;
constexpr std::size_t kMaxCachedWordBytes = 32;

AlignedText replace_bad_bytes(std::string_view text, bool single_bytes, bool tracked) {
  const AlignedText original(text, 0, tracked);
  if (base::is_valid_utf8(text)) return original;
  AlignedText result = AlignedText::empty_like(original);
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); i += length) {
    const base::CodePoint code_point = base::decode_utf8(text.substr(i));
    length = code_point.valid || !single_bytes ? code_point.length : 1;
    if (code_point.valid) {
      result.copy(original, i, i + length);
    } else {
      result.insert(base::kReplacementUtf8, original.source(i, i + length));
    }
  }
  return result;
}

AlignedText cut(const AlignedText& text, Range range) {
  AlignedText result = AlignedText::empty_like(text);
  result.copy(text, range.begin, range.end);
  return result;
}

}  // namespace

base::Result<void> Encoder::run(std::string_view text, EncodeOptions options) {
  if (text.size() > Tokenizer::kMaxTextBytes) return base::usage_error("the text is longer than 1 GiB");
  if (options.add_special) append_special(parts_.prefix_ids, 0);
  auto done = encode_valid(replace_bad_bytes(text, parts_.replaces_single_bytes, tracked_), options.parse_special);
  if (!done) return done;
  if (options.add_special) append_special(parts_.suffix_ids, text.size());
  return {};
}

void Encoder::append_special(const std::vector<TokenId>& ids, std::size_t at) {
  for (const TokenId id : ids)
    tokens_.push_back({id, at, at});
}

base::Result<void> Encoder::encode_valid(const AlignedText& text, bool parse_special) {
  for (const TextOrToken& part : parts_.raw_matcher.split(text.text(), parse_special)) {
    if (part.id >= 0) {
      append_token(part.id, text.source(part.range.begin, part.range.end));
    } else if (auto done = encode_stretch(cut(text, part.range), part.range.begin == 0, parse_special); !done) {
      return done;
    }
  }
  return {};
}

base::Result<void> Encoder::encode_stretch(AlignedText text, bool at_start, bool parse_special) {
  auto normal = parts_.normalizer.apply(std::move(text));
  if (!normal) return std::move(normal).error();
  if (parts_.normalized_matcher.empty()) return encode_pieces(std::move(normal).value(), at_start);
  for (const TextOrToken& part : parts_.normalized_matcher.split(normal->text(), parse_special)) {
    if (part.id >= 0) {
      append_token(part.id, normal->source(part.range.begin, part.range.end));
    } else if (auto done = encode_pieces(cut(*normal, part.range), at_start && part.range.begin == 0); !done) {
      return done;
    }
  }
  return {};
}

base::Result<void> Encoder::encode_pieces(AlignedText text, bool at_start) {
  const auto pieces = parts_.pre_tokenizer.apply(text, at_start);
  if (!pieces) return pieces.error();
  symbols_.clear();
  cache_.assign(text.text().size() >= kMinCachedStretch ? kNumCachedWords : 0, {});
  for (const Range& piece : *pieces) {
    const std::size_t first_symbol = symbols_.size();
    if (auto done = encode_piece(text.text(), piece); !done) return done;
    std::size_t pos = piece.begin;
    for (std::size_t i = first_symbol; i < symbols_.size(); ++i) {
      const std::size_t end = pos + symbols_[i].length;
      append_token(symbols_[i].id, tracked_ ? text.source(pos, end) : Range{});
      pos = end;
    }
  }
  return {};
}

// Cuts a piece before the space marks that no merge reaches across, so that long texts without a pre-tokenizer are
// encoded word by word all the same.
base::Result<void> Encoder::encode_piece(std::string_view text, Range piece) {
  std::uint32_t begin = piece.begin;
  const std::string_view until_end = text.substr(0, piece.end);
  for (std::size_t mark = until_end.find(kSpaceMark, piece.begin + 1); mark != std::string_view::npos;
       mark = until_end.find(kSpaceMark, mark + kSpaceMark.size())) {
    std::size_t previous = mark - 1;
    while (previous > begin && base::is_continuation(text[previous]))
      --previous;
    std::size_t length = 0;
    if (!parts_.model->may_cut_before_space(base::decode_valid_utf8(text.data() + previous, length))) continue;
    const auto end = static_cast<std::uint32_t>(mark);
    if (auto done = encode_word(text, {begin, end}); !done) return done;
    begin = end;
  }
  return encode_word(text, {begin, piece.end});
}

base::Result<void> Encoder::encode_word(std::string_view text, Range word) {
  const std::string_view view = text.substr(word.begin, word.end - word.begin);
  if (cache_.empty() || view.size() > kMaxCachedWordBytes) return parts_.model->encode(view, scratch_, symbols_);
  const std::uint64_t hash = std::hash<std::string_view>{}(view);
  CachedWord& cached = cache_[hash % kNumCachedWords];
  if (cached.hash == hash && text.substr(cached.text.begin, cached.text.end - cached.text.begin) == view) {
    for (std::uint32_t i = 0; i < cached.num_symbols; ++i)
      symbols_.push_back(symbols_[cached.first_symbol + i]);
    return {};
  }
  const auto first_symbol = static_cast<std::uint32_t>(symbols_.size());
  if (auto done = parts_.model->encode(view, scratch_, symbols_); !done) return done;
  cached = {hash, word, first_symbol, static_cast<std::uint32_t>(symbols_.size()) - first_symbol};
  return {};
}

}  // namespace vitrine::tokenizer
