#include "tokenizer/aligned_text.h"

#include <cstdint>

namespace vitrine::tokenizer {

AlignedText::AlignedText(std::string_view text, std::size_t base, bool tracked) : text_(text), tracked_(tracked) {
  if (!tracked) return;
  sources_.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = static_cast<std::uint32_t>(base + i);
    sources_.push_back({at, at + 1});
  }
}

AlignedText AlignedText::empty_like(const AlignedText& like) {
  AlignedText result;
  result.tracked_ = like.tracked_;
  result.text_.reserve(like.text_.size());
  return result;
}

Range AlignedText::source(std::size_t begin, std::size_t end) const {
  if (!tracked_ || sources_.empty()) return {};
  if (begin < end) return {sources_[begin].begin, sources_[end - 1].end};
  const std::uint32_t at = begin < sources_.size() ? sources_[begin].begin : sources_.back().end;
  return {at, at};
}

void AlignedText::copy(const AlignedText& from, std::size_t begin, std::size_t end) {
  text_.append(from.text_, begin, end - begin);
  if (!tracked_) return;
  const auto first = from.sources_.begin();
  sources_.insert(sources_.end(), first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
}

void AlignedText::insert(std::string_view bytes, Range source) {
  text_ += bytes;
  if (tracked_) sources_.insert(sources_.end(), bytes.size(), source);
}

}  // namespace vitrine::tokenizer
