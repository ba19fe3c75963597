#include "tokenizer/aligned_text.h"

#include <algorithm>
#include <cstdint>

namespace vitrine::tokenizer {
namespace {

std::size_t max_rewritten_bytes(std::size_t size) {
  constexpr std::size_t kOfAny = std::size_t{1} << 20;
  constexpr std::size_t kFactor = 64;
  constexpr std::size_t kMost = std::size_t{1} << 30;  // so that a Range holds every place
  return std::min(kMost, kOfAny + kFactor * size);
}

}  // namespace

AlignedText::AlignedText(std::string_view text, std::size_t base, bool tracked)
    : text_(text), max_bytes_(max_rewritten_bytes(text.size())), tracked_(tracked) {
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
  result.max_bytes_ = like.max_bytes_;
  result.is_cut_ = like.is_cut_;
  result.text_.reserve(like.text_.size());
  return result;
}

Range AlignedText::source(std::size_t begin, std::size_t end) const {
  if (!tracked_ || sources_.empty()) return {};
  if (begin < end) return {sources_[begin].begin, sources_[end - 1].end};
  const std::uint32_t at = begin < sources_.size() ? sources_[begin].begin : sources_.back().end;
  return {at, at};
}

bool AlignedText::has_room(std::size_t num_bytes) {
  is_cut_ = is_cut_ || num_bytes > max_bytes_ - text_.size();
  return !is_cut_;
}

void AlignedText::copy(const AlignedText& from, std::size_t begin, std::size_t end) {
  if (!has_room(end - begin)) return;
  text_.append(from.text_, begin, end - begin);
  if (!tracked_) return;
  const auto first = from.sources_.begin();
  sources_.insert(sources_.end(), first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
}

void AlignedText::insert(std::string_view bytes, Range source) {
  if (!has_room(bytes.size())) return;
  text_ += bytes;
  if (tracked_) sources_.insert(sources_.end(), bytes.size(), source);
}

base::Error too_long() {
  return base::usage_error(
      "the text: the tokenizer's replacements make it longer than 1 GiB, or than 64 times what it was and 1 MiB; give "
      "it "
      "in parts");
}

}  // namespace vitrine::tokenizer
