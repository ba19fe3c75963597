#include "tokenizer/character_map.h"

#include <utf8proc.h>

#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace vitrine::tokenizer {
namespace {

// The units of darts-clone: whether a value hangs on the node, the byte that leads to it, where its children are.
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000FFu;
}
std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200u) >> 6);
}
std::uint32_t value_of_leaf(std::uint32_t unit) {
  return unit & 0x7FFFFFFFu;
}

class LongestMatches : public NormalizerStep {
 public:
  explicit LongestMatches(CharacterMap map) : map_(std::move(map)) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    AlignedText result = AlignedText::empty_like(text);
    const std::string_view bytes = text.text();
    for (std::size_t at = 0, length = 0; at < bytes.size(); at += length) {
      const auto match = map_.longest(bytes.substr(at));
      length = match ? match->length : base::utf8_length(bytes[at]);
      if (match) {
        result.insert(match->replacement, text.source(at, at + length));
      } else {
        result.copy(text, at, at + length);
      }
    }
    return result;
  }

 private:
  CharacterMap map_;
};

class GraphemeMatches : public NormalizerStep {
 public:
  explicit GraphemeMatches(CharacterMap map) : map_(std::move(map)) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    AlignedText result = AlignedText::empty_like(text);
    const std::string_view bytes = text.text();
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = end_of_grapheme(bytes, at);
      const bool is_short = end - at <= kMostBytes;
      if (!is_short || !replace(text, at, end, result)) replace_characters(text, at, end, result);
      at = end;
    }
    return result;
  }

 private:
  static constexpr std::size_t kMostBytes = 5;

  static std::size_t end_of_grapheme(std::string_view bytes, std::size_t at) {
    std::size_t length = 0;
    utf8proc_int32_t state = 0;
    char32_t previous = base::decode_valid_utf8(bytes.data() + at, length);
    for (std::size_t i = at + length; i < bytes.size(); i += length) {
      const char32_t next = base::decode_valid_utf8(bytes.data() + i, length);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous), static_cast<utf8proc_int32_t>(next),
                                           &state)) {
        return i;
      }
      previous = next;
    }
    return bytes.size();
  }

  bool replace(const AlignedText& text, std::size_t begin, std::size_t end, AlignedText& result) const {
    const auto match = map_.shortest(std::string_view(text.text()).substr(begin, end - begin));
    if (match) result.insert(match->replacement, text.source(begin, end));
    return match.has_value();
  }

  void replace_characters(const AlignedText& text, std::size_t begin, std::size_t end, AlignedText& result) const {
    for (std::size_t at = begin, length = 0; at < end; at += length) {
      length = base::utf8_length(text.text()[at]);
      if (!replace(text, at, at + length, result)) result.copy(text, at, at + length);
    }
  }

  CharacterMap map_;
};

}  // namespace

base::Result<CharacterMap> CharacterMap::read(std::string_view blob) {
  std::uint32_t trie_bytes = 0;
  if (blob.size() < sizeof(trie_bytes)) return base::bad_file("is cut off");
  std::memcpy(&trie_bytes, blob.data(), sizeof(trie_bytes));
  blob.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes > blob.size() || trie_bytes % sizeof(std::uint32_t) != 0 || trie_bytes == 0) {
    return base::bad_file("states a size that it has not");
  }
  CharacterMap map;
  map.units_.resize(trie_bytes / sizeof(std::uint32_t));
  std::memcpy(map.units_.data(), blob.data(), trie_bytes);
  map.texts_ = blob.substr(trie_bytes);
  return map;
}

template <typename Take>
void CharacterMap::walk(std::string_view text, Take take) const {
  std::uint32_t node = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) return;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return;
    const auto replacement = text_at(value_of_leaf(units_[node]));
    if (!replacement || !take(Match{i + 1, *replacement})) return;
  }
}

std::optional<std::string_view> CharacterMap::text_at(std::uint32_t offset) const {
  const std::size_t end = texts_.find('\0', offset);
  if (offset >= texts_.size() || end == std::string::npos) return std::nullopt;
  const std::string_view text = std::string_view(texts_).substr(offset, end - offset);
  return base::is_valid_utf8(text) ? std::optional(text) : std::nullopt;
}

std::optional<CharacterMap::Match> CharacterMap::longest(std::string_view text) const {
  std::optional<Match> found;
  walk(text, [&](const Match& match) {
    const bool ends_a_character = match.length == text.size() || !base::is_continuation(text[match.length]);
    if (ends_a_character) found = match;
    return true;
  });
  return found;
}

std::optional<CharacterMap::Match> CharacterMap::shortest(std::string_view text) const {
  std::optional<Match> found;
  walk(text, [&](const Match& match) {
    found = match;
    return false;
  });
  return found;
}

std::unique_ptr<NormalizerStep> make_character_map(CharacterMap map) {
  return std::make_unique<LongestMatches>(std::move(map));
}
std::unique_ptr<NormalizerStep> make_grapheme_map(CharacterMap map) {
  return std::make_unique<GraphemeMatches>(std::move(map));
}

}  // namespace vitrine::tokenizer
