#include "tokenizer/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace vitrine::tokenizer {
namespace {

std::size_t start_of_last(std::string_view text) {
  std::size_t start = text.size() - 1;
  while (start > 0 && base::is_continuation(text[start]))
    --start;
  return start;
}

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  const bool left = begin > 0 && is_word(base::decode_utf8(text.substr(start_of_last(text.substr(0, begin)))).value);
  return left || (end < text.size() && is_word(base::decode_utf8(text.substr(end)).value));
}

std::size_t extend_left(std::string_view text, std::size_t begin, std::size_t limit) {
  while (begin > limit) {
    const std::size_t start = start_of_last(text.substr(0, begin));
    if (start < limit || !is_space(base::decode_utf8(text.substr(start)).value)) break;
    begin = start;
  }
  return begin;
}

std::size_t extend_right(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const base::CodePoint code_point = base::decode_utf8(text.substr(end));
    if (!is_space(code_point.value)) break;
    end += code_point.length;
  }
  return end;
}

Range make_range(std::size_t begin, std::size_t end) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

}  // namespace

base::Result<void> AddedTokenMatcher::add(const AddedToken& token, std::string_view content) {
  if (content.empty()) return base::bad_file("an added token is empty");
  if (content.size() > kMaxContentBytes) {
    return base::bad_file(
        fmt::format("an added token has {} bytes, the limit is {}", content.size(), kMaxContentBytes));
  }
  std::uint32_t node = 0;
  for (const char byte : content) {
    const auto fresh = static_cast<std::uint32_t>(token_at_node_.size());
    node = edges_.insert(edge(node, byte), fresh);
    if (node == fresh) token_at_node_.push_back(0);
  }
  if (!std::exchange(can_start_[static_cast<unsigned char>(content[0])], true)) starts_ += content[0];
  tokens_.push_back(token);
  all_special_ &= token.special;
  if (token_at_node_[node] == 0) token_at_node_[node] = static_cast<std::uint32_t>(tokens_.size());
  return {};
}

AddedTokenMatcher::Match AddedTokenMatcher::longest_at(std::string_view text, std::size_t pos) const {
  Match best;
  std::uint32_t node = 0;
  for (std::size_t i = pos; i < text.size(); ++i) {
    const std::uint32_t* next = edges_.find(edge(node, text[i]));
    if (next == nullptr) break;
    node = *next;
    if (token_at_node_[node] != 0) best = {token_at_node_[node] - 1, i + 1};
  }
  return best;
}

// The first place from `pos` on where a token may begin; the end of the text if there is none.
std::size_t AddedTokenMatcher::next_start(std::string_view text, std::size_t pos) const {
  if (tokens_.empty()) return text.size();
  if (starts_.size() == 1) return std::min(text.find(starts_[0], pos), text.size());
  while (pos < text.size() && !can_start_[static_cast<unsigned char>(text[pos])])
    ++pos;
  return pos;
}

std::vector<TextOrToken> AddedTokenMatcher::split(std::string_view text, bool parse_special) const {
  std::vector<TextOrToken> parts;
  std::size_t text_begin = 0;
  for (std::size_t pos = 0; pos < text.size();) {
    if (!parse_special && all_special_) break;
    pos = next_start(text, pos);
    if (pos == text.size()) break;
    const Match match = longest_at(text, pos);
    if (match.end == 0) {
      ++pos;
      continue;
    }
    const AddedToken& token = tokens_[match.token_index];
    std::size_t begin = pos;
    std::size_t end = match.end;
    pos = end;  // a match that is turned down is passed over as a whole
    if (token.special && !parse_special) continue;
    if (token.single_word && touches_word(text, begin, end)) continue;
    if (token.lstrip) begin = extend_left(text, begin, text_begin);
    if (token.rstrip) end = extend_right(text, end);
    if (begin > text_begin) parts.push_back({make_range(text_begin, begin), -1});
    parts.push_back({make_range(begin, end), token.id});
    pos = text_begin = end;
  }
  if (text_begin < text.size()) parts.push_back({make_range(text_begin, text.size()), -1});
  return parts;
}

}  // namespace vitrine::tokenizer
