#include "tokenizer/tokenizer_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vitrine::tokenizer {
namespace {

// Names under which published chat models end a turn.
constexpr std::array<std::string_view, 13> kEndNames = {
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",         "<|endoftext|>", "<|end_of_text|>",
    "<|return|>", "<|call|>",   "<|eot|>",    "<EOT>",   "<｜end▁of▁sentence｜>", "<turn|>",
};

base::Result<void> add_to_vocabulary(TokenizerParts& parts, const AddedToken& token) {
  const std::string_view known = parts.vocabulary->piece(token.id);
  if (!parts.vocabulary->contains(token.id)) return parts.vocabulary->add_unlisted(token.id, token.content);
  if (known == token.content) return {};
  return base::bad_file(
      fmt::format("id {} is \"{}\" here and \"{}\" in the vocabulary", token.id, token.content, known));
}

}  // namespace

base::Result<void> add_token(TokenizerParts& parts, const AddedToken& token) {
  if (auto done = add_to_vocabulary(parts, token); !done) return done;
  const auto [entry, is_new] = parts.added_ids.emplace(token.content, token.id);
  if (!is_new) {
    return base::bad_file(fmt::format("ids {} and {} have the same text", entry->second, token.id));
  }
  const auto index = static_cast<std::size_t>(token.id);
  if (token.special && index >= parts.is_special.size()) parts.is_special.resize(index + 1);
  if (token.special) parts.is_special[index] = true;
  if (!token.normalized) return parts.raw_matcher.add(token, token.content);
  auto content = parts.normalizer.apply(AlignedText(token.content, 0, false));
  if (!content) return std::move(content).error();
  return parts.normalized_matcher.add(token, content->text());
}

void complete_end_of_generation(TokenizerParts& parts) {
  std::vector<TokenId>& ids = parts.ids.end_of_generation;
  if (parts.ids.eos) ids.push_back(*parts.ids.eos);
  for (const std::string_view name : kEndNames) {
    const auto found = parts.added_ids.find(std::string(name));
    if (found != parts.added_ids.end()) ids.push_back(found->second);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace vitrine::tokenizer
