#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// A piece of the caller's text on its way through normalizers and pre-tokenizers. If tracked, it knows for every byte
// which range of the caller's text it came from, so that tokens can say where they stand; otherwise that costs nothing.
class AlignedText {
 public:
  // The text as it is, standing at byte `base` of the caller's text.
  AlignedText(std::string_view text, std::size_t base, bool tracked);
  // An empty text that is put together with copy and insert; tracked and bounded as `like` is.
  static AlignedText empty_like(const AlignedText& like);

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // Whether something was left out: a tokenizer's file may ask for replacements without end, but what is made of a text
  // has up to 1 MiB and 64 times its bytes, and up to 1 GiB. Published tokenizers make up to 12 times as many.
  bool is_cut() const { return is_cut_; }

  // The range of the caller's text behind bytes begin..end of this one.
  Range source(std::size_t begin, std::size_t end) const;

  // Appends bytes begin..end of another text.
  void copy(const AlignedText& from, std::size_t begin, std::size_t end);
  // Appends new bytes that stand for `source`; an empty source for what was put in.
  void insert(std::string_view bytes, Range source);

 private:
  AlignedText() = default;
  // False, and cut, where so many more bytes are too many.
  bool has_room(std::size_t num_bytes);

  std::string text_;
  std::vector<Range> sources_;  // one per byte, if tracked
  std::size_t max_bytes_ = 0;
  bool tracked_ = false;
  bool is_cut_ = false;
};

// The failure (kUsage) of a text that is_cut().
base::Error too_long();

}  // namespace vitrine::tokenizer
