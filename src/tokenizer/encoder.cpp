#include "tokenizer/encoder.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/known_patterns.h"

namespace vitrine::tokenizer {
namespace {

// Text that is cut into words at a time, so that the lists of words stay in cache.
constexpr std::size_t kBlockBytes = std::size_t{32} << 10;
// A guess, for how much room to make.
constexpr std::size_t kUsualTokenBytes = 3;
// A word's place in the cache of words is fetched while so many words before it are encoded.
constexpr std::size_t kWordsAhead = 8;

AlignedText replace_bad_bytes(std::string_view text, bool single_bytes, bool tracked) {
  AlignedText original(text, 0, tracked);
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

Encoder::Encoder(const TokenizerParts& parts, IdCachePool& caches, bool tracked)
    : parts_(parts), tracked_(tracked), cuts_before_spaces_(parts.model->cuts_before_spaces()), caches_(caches) {}

base::Result<void> Encoder::run(std::string_view text, EncodeOptions options) {
  if (text.size() > Tokenizer::kMaxTextBytes) return base::usage_error("the text is longer than 1 GiB");
  std::vector<ScanStep> steps;
  if (!tracked_ && !cuts_before_spaces_) steps = parts_.pre_tokenizer.scan_steps();
  if (!steps.empty()) {
    words_.emplace(*parts_.model, std::move(steps), caches_, text.size());
    ids_.reserve(text.size() / kUsualTokenBytes);
  } else {
    cache_.reserve_for(text.size());
  }
  if (options.add_special) append_special(parts_.prefix_ids, 0);
  auto done =
      takes_text_as_it_is() && base::is_valid_utf8(text)
          ? encode_as_it_is(text, options.parse_special)
          : encode_valid(replace_bad_bytes(text, parts_.replaces_single_bytes, tracked_), options.parse_special);
  if (!done) return done;
  if (options.add_special) append_special(parts_.suffix_ids, text.size());
  return {};
}

void Encoder::append_special(const std::vector<TokenId>& ids, std::size_t at) {
  for (const TokenId id : ids)
    append_token(id, {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at)});
}

base::Result<void> Encoder::encode_as_it_is(std::string_view text, bool parse_special) {
  for (const TextOrToken& part : parts_.raw_matcher.split(text, parse_special)) {
    if (part.id >= 0) {
      ids_.push_back(part.id);
    } else if (auto done = words_->append(text.substr(part.range.begin, part.range.end - part.range.begin), ids_);
               !done) {
      return done;
    }
  }
  return {};
}

base::Result<void> Encoder::encode_valid(const AlignedText& text, bool parse_special) {
  if (text.is_cut()) return too_long();
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
  if (words_) return words_->append(text.text(), ids_);
  const std::size_t size = text.text().size();
  const bool in_blocks = parts_.pre_tokenizer.cuts_between_words();
  for (std::size_t begin = 0; begin < size;) {
    const std::size_t end = in_blocks ? next_certain_cut(text.text(), begin + kBlockBytes) : size;
    const Range block{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    if (auto done = encode_block(text, block, at_start && begin == 0); !done) return done;
    begin = end;
  }
  return {};
}

base::Result<void> Encoder::encode_block(AlignedText& text, Range block, bool at_start) {
  pieces_.assign(1, block);
  if (auto done = parts_.pre_tokenizer.apply(text, pieces_, at_start); !done) return done;
  const auto view = [&](Range range) { return text.text().substr(range.begin, range.end - range.begin); };
  const bool pieces_are_words = !tracked_ && !cuts_before_spaces_;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (i + kWordsAhead < pieces_.size()) cache_.prefetch(view(pieces_[i + kWordsAhead]));
    const Range piece = pieces_[i];
    if (pieces_are_words && cache_.find(view(piece), ids_)) continue;
    symbols_.clear();
    auto done = pieces_are_words ? encode_new_word(view(piece)) : encode_piece(text.text(), piece);
    if (!done) return done;
    std::size_t pos = piece.begin;
    for (const Symbol& symbol : symbols_) {
      append_token(symbol.id, tracked_ ? text.source(pos, pos + symbol.length) : Range{});
      pos += symbol.length;
    }
  }
  return {};
}

// Cuts a piece before the space marks that no merge reaches across, so that long texts without a pre-tokenizer are
// encoded word by word all the same.
base::Result<void> Encoder::encode_piece(std::string_view text, Range piece) {
  if (!cuts_before_spaces_) return encode_word(text, piece);
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
  return cache_.find(view, symbols_) ? base::Result<void>() : encode_new_word(view);
}

// A word that was just looked for in the cache and is not there.
base::Result<void> Encoder::encode_new_word(std::string_view word) {
  const std::size_t first_symbol = symbols_.size();
  if (auto done = parts_.model->encode(word, scratch_, symbols_); !done) return done;
  cache_.keep(word, symbols_, first_symbol);
  return {};
}

}  // namespace vitrine::tokenizer
