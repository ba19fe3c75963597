#include "tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/model.h"
#include "tokenizer/unicode.h"

namespace vitrine::tokenizer {
namespace {

class Replace : public NormalizerStep {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    std::vector<Range> matches;
    if (auto done = pattern_->find_all(text.text(), matches); !done) return std::move(done).error();
    AlignedText result = AlignedText::empty_like(text);
    std::size_t pos = 0;
    for (const Range& match : matches) {
      result.copy(text, pos, match.begin);
      result.insert(content_, text.source(match.begin, match.end));
      pos = match.end;
    }
    result.copy(text, pos, text.text().size());
    return result;
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class Prepend : public NormalizerStep {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    if (text.empty()) return text;
    AlignedText result = AlignedText::empty_like(text);
    result.insert(prefix_, text.source(0, 0));
    result.copy(text, 0, text.text().size());
    return result;
  }

 private:
  std::string prefix_;
};

class Append : public NormalizerStep {
 public:
  explicit Append(std::string suffix) : suffix_(std::move(suffix)) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    if (text.empty()) return text;
    const std::size_t size = text.text().size();
    AlignedText result = AlignedText::empty_like(text);
    result.copy(text, 0, size);
    result.insert(suffix_, text.source(size, size));
    return result;
  }

 private:
  std::string suffix_;
};

// Replaces characters one by one; `Map` answers the code point for one that stays, or appends what it becomes.
template <typename Map>
class MapCharacters : public NormalizerStep {
 public:
  explicit MapCharacters(Map map) : map_(map) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    AlignedText result = AlignedText::empty_like(text);
    const std::string& bytes = text.text();
    std::size_t length = 0;
    std::string mapped;
    for (std::size_t i = 0; i < bytes.size(); i += length) {
      const char32_t code_point = base::decode_valid_utf8(bytes.data() + i, length);
      mapped.clear();
      map_(code_point, mapped);
      if (bytes.compare(i, length, mapped) == 0) {
        result.copy(text, i, i + length);
      } else {
        result.insert(mapped, text.source(i, i + length));
      }
    }
    return result;
  }

 private:
  Map map_;
};

void lowercase(char32_t code_point, std::string& out) {
  if (code_point == 0x130) {  // the one letter whose lower case is two code points (SpecialCasing.txt)
    out += "i\xCC\x87";
  } else {
    base::append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point))));
  }
}

void drop_marks(char32_t code_point, std::string& out) {
  if (!is_mark(code_point)) base::append_utf8(out, code_point);
}

void drop_nonspacing(char32_t code_point, std::string& out) {
  if (category(code_point) != Category::kMn) base::append_utf8(out, code_point);
}

void clean(char32_t code_point, std::string& out) {
  const Category kind = category(code_point);
  const bool is_line_space = code_point == '\t' || code_point == '\n' || code_point == '\r';
  if (is_line_space || is_space(code_point)) {
    out += ' ';
  } else if (code_point != base::kReplacement && !between(kind, Category::kCc, Category::kCs)) {
    base::append_utf8(out, code_point);
  }
}

void normalize_nmt(char32_t cp, std::string& out) {
  const bool is_dropped =
      (cp >= 0x01 && cp <= 0x08) || cp == 0x0B || (cp >= 0x0E && cp <= 0x1F) || cp == 0x7F || cp == 0x8F || cp == 0x9F;
  const bool is_blank = cp == '\t' || cp == '\n' || cp == '\f' || cp == '\r' || cp == 0x1680 ||
                        (cp >= 0x200B && cp <= 0x200F) || cp == 0x2028 || cp == 0x2029 || cp == 0x2581 ||
                        cp == 0xFEFF || cp == base::kReplacement;
  if (!is_dropped) base::append_utf8(out, is_blank ? U' ' : cp);
}

void spell_bytes(char32_t code_point, std::string& out) {
  std::string character;
  base::append_utf8(character, code_point);
  out += spelling_of_bytes(character);
}

// The blocks that BERT counts as Chinese; the published code has 2B920 where the block begins at 2B820.
bool is_chinese(char32_t cp) {
  return (cp >= 0x4E00 && cp <= 0x9FFF) || (cp >= 0x3400 && cp <= 0x4DBF) || (cp >= 0x20000 && cp <= 0x2A6DF) ||
         (cp >= 0x2A700 && cp <= 0x2B73F) || (cp >= 0x2B740 && cp <= 0x2B81F) || (cp >= 0x2B920 && cp <= 0x2CEAF) ||
         (cp >= 0xF900 && cp <= 0xFAFF) || (cp >= 0x2F800 && cp <= 0x2FA1F);
}

void set_chinese_apart(char32_t code_point, std::string& out) {
  if (is_chinese(code_point)) out += ' ';
  base::append_utf8(out, code_point);
  if (is_chinese(code_point)) out += ' ';
}

class Strip : public NormalizerStep {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    const std::string& bytes = text.text();
    std::size_t begin = 0;
    std::size_t end = bytes.size();
    std::size_t length = 0;
    while (left_ && begin < end && is_space(base::decode_valid_utf8(bytes.data() + begin, length)))
      begin += length;
    while (right_ && end > begin) {
      std::size_t last = end - 1;
      while (last > begin && base::is_continuation(bytes[last]))
        --last;
      if (!is_space(base::decode_valid_utf8(bytes.data() + last, length))) break;
      end = last;
    }
    AlignedText result = AlignedText::empty_like(text);
    result.copy(text, begin, end);
    return result;
  }

 private:
  bool left_, right_;
};

class CollapseSpaces : public NormalizerStep {
 public:
  base::Result<AlignedText> apply(const AlignedText& text) const override {
    AlignedText result = AlignedText::empty_like(text);
    const std::string& bytes = text.text();
    const std::size_t end = end_of_content(bytes);
    bool pending = false;
    for (std::size_t i = 0; i < end; ++i) {
      if (bytes[i] == ' ') {
        pending = !result.empty();
        continue;
      }
      if (pending) result.copy(text, i - 1, i);
      pending = false;
      result.copy(text, i, i + 1);
    }
    return result;
  }

 private:
  static std::size_t end_of_content(std::string_view text) {
    while (text.ends_with(' ') || text.ends_with(kSpaceMark))
      text.remove_suffix(text.ends_with(' ') ? 1 : kSpaceMark.size());
    return text.size();
  }
};

// Unicode normalization, cluster by cluster so that the alignment survives: a cluster ends before every character that
// neither composes with what stands before it nor is reordered with it.
class UnicodeNormalization : public NormalizerStep {
 public:
  explicit UnicodeNormalization(UnicodeForm form)
      : composed_(form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc),
        options_(static_cast<utf8proc_option_t>(
            UTF8PROC_STABLE | (composed_ ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
            (form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd ? UTF8PROC_COMPAT : 0))) {}

  base::Result<AlignedText> apply(const AlignedText& text) const override {
    const std::string& bytes = text.text();
    if (std::ranges::all_of(bytes, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return text;
    AlignedText result = AlignedText::empty_like(text);
    Cluster cluster;
    std::size_t copied = 0;  // up to here the result is made; from here to the cluster the text stays as it is
    const auto end_cluster = [&](std::size_t end) {
      if (cluster.stays) return;
      result.copy(text, copied, cluster.begin);
      append_cluster(text, cluster.begin, end, result);
      copied = end;
    };
    std::size_t length = 0;
    for (std::size_t i = 0; i < bytes.size(); i += length) {
      const char32_t code_point = base::decode_valid_utf8(bytes.data() + i, length);
      const bool stays = always_stays(code_point);
      if (i > 0 && !stays && !is_boundary_before(code_point)) {
        cluster.stays = false;
        continue;
      }
      if (i > 0) end_cluster(i);
      cluster = {i, stays};
    }
    end_cluster(bytes.size());
    result.copy(text, copied, bytes.size());
    return result;
  }

 private:
  struct Cluster {
    std::size_t begin = 0;
    bool stays = true;  // one character, which normalization leaves alone
  };

  // Characters that begin a cluster and are never changed where they are all of it: most of those in use, at once.
  bool always_stays(char32_t code_point) const {
    const auto in = [code_point](char32_t first, char32_t last) { return code_point >= first && code_point <= last; };
    if (code_point < 0x80 || in(0x4E00, 0x9FFF)) return true;
    // Dashes and quotes, Chinese punctuation and full-width characters only have compatible forms.
    const bool compatible = (options_ & UTF8PROC_COMPAT) != 0;
    return !compatible && (in(0x2010, 0x2027) || in(0x3000, 0x3020) || in(0xFF01, 0xFF5E));
  }

  bool is_boundary_before(char32_t code_point) const {
    if (code_point < 0x300) return true;
    // V and T letters of Hangul compose with what stands before them, by rule rather than by table.
    if (code_point >= 0x1160 && code_point <= 0x11FF) return false;
    utf8proc_int32_t first[64];
    int boundclass = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), first, 64,
                                static_cast<utf8proc_option_t>(options_ | UTF8PROC_DECOMPOSE), &boundclass);
    if (count < 1 || count > 64) return false;
    if (first[0] >= 0x1160 && first[0] <= 0x11FF) return false;
    return !reaches_back(first[0]) && !reaches_back(static_cast<utf8proc_int32_t>(code_point));
  }

  static bool reaches_back(utf8proc_int32_t code_point) {
    const utf8proc_property_t* property = utf8proc_get_property(code_point);
    // In utf8proc's table an index with the high bit set marks the second half of a composition.
    return property->combining_class != 0 || (property->comb_index != UINT16_MAX && property->comb_index >= 0x8000);
  }

  void append_cluster(const AlignedText& text, std::size_t begin, std::size_t end, AlignedText& result) const {
    if (begin == end) return;
    const std::string& bytes = text.text();
    utf8proc_uint8_t* mapped = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data() + begin),
                                     static_cast<utf8proc_ssize_t>(end - begin), &mapped, options_);
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
    const std::string_view normal =
        length < 0 ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
    if (length < 0 || bytes.compare(begin, end - begin, normal) == 0) {
      result.copy(text, begin, end);
    } else {
      result.insert(normal, text.source(begin, end));
    }
  }

  bool composed_;
  utf8proc_option_t options_;
};

}  // namespace

base::Result<AlignedText> Normalizer::apply(AlignedText text) const {
  for (const auto& step : steps_) {
    auto next = step->apply(text);
    if (!next) return next;
    if (next->is_cut()) return too_long();
    text = std::move(next).value();
  }
  return text;
}

std::unique_ptr<NormalizerStep> make_replace(std::unique_ptr<Pattern> pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
std::unique_ptr<NormalizerStep> make_prepend(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}
std::unique_ptr<NormalizerStep> make_append(std::string suffix) {
  return std::make_unique<Append>(std::move(suffix));
}
std::unique_ptr<NormalizerStep> make_unicode_form(UnicodeForm form) {
  return std::make_unique<UnicodeNormalization>(form);
}
std::unique_ptr<NormalizerStep> make_lowercase() {
  return std::make_unique<MapCharacters<decltype(&lowercase)>>(&lowercase);
}
std::unique_ptr<NormalizerStep> make_strip(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}
std::unique_ptr<NormalizerStep> make_strip_accents() {
  return std::make_unique<MapCharacters<decltype(&drop_marks)>>(&drop_marks);
}
std::unique_ptr<NormalizerStep> make_clean_text() {
  return std::make_unique<MapCharacters<decltype(&clean)>>(&clean);
}
std::unique_ptr<NormalizerStep> make_set_chinese_apart() {
  return std::make_unique<MapCharacters<decltype(&set_chinese_apart)>>(&set_chinese_apart);
}
std::unique_ptr<NormalizerStep> make_drop_nonspacing_marks() {
  return std::make_unique<MapCharacters<decltype(&drop_nonspacing)>>(&drop_nonspacing);
}
std::unique_ptr<NormalizerStep> make_nmt() {
  return std::make_unique<MapCharacters<decltype(&normalize_nmt)>>(&normalize_nmt);
}
std::unique_ptr<NormalizerStep> make_spell_bytes() {
  return std::make_unique<MapCharacters<decltype(&spell_bytes)>>(&spell_bytes);
}
std::unique_ptr<NormalizerStep> make_collapse_spaces() {
  return std::make_unique<CollapseSpaces>();
}

}  // namespace vitrine::tokenizer
