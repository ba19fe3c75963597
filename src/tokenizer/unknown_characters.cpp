#include "tokenizer/unknown_characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "tokenizer/byte_alphabet.h"

namespace vitrine::tokenizer {

UnknownCharacters::UnknownCharacters(const Vocabulary& vocabulary, const UnknownSettings& settings)
    : settings_(settings) {
  bytes_.fill(-1);
  if (!settings.byte_fallback) return;
  for (unsigned byte = 0; byte < bytes_.size(); ++byte)
    bytes_[byte] = vocabulary.find(token_of_byte(static_cast<unsigned char>(byte))).value_or(-1);
}

bool UnknownCharacters::has_tokens_for(std::string_view bytes) const {
  return std::ranges::all_of(bytes, [this](char byte) { return bytes_[static_cast<unsigned char>(byte)] >= 0; });
}

base::Result<void> UnknownCharacters::append_spelled(std::string_view spelling, std::string_view character,
                                                     std::vector<Symbol>& symbols) const {
  if (!has_tokens_for(spelling)) return append_unknown(character, 0, symbols);
  // The first of them cover the character.
  for (std::size_t i = 0; i < spelling.size(); ++i)
    symbols.push_back({bytes_[static_cast<unsigned char>(spelling[i])], i < character.size() ? 1U : 0U});
  return {};
}

base::Result<void> UnknownCharacters::append(std::string_view character, std::size_t first,
                                             std::vector<Symbol>& symbols) const {
  if (has_tokens_for(character)) {
    for (const char byte : character)
      symbols.push_back({bytes_[static_cast<unsigned char>(byte)], 1});
    return {};
  }
  return append_unknown(character, first, symbols);
}

base::Result<void> UnknownCharacters::append_unknown(std::string_view character, std::size_t first,
                                                     std::vector<Symbol>& symbols) const {
  if (!settings_.unknown) {
    return base::usage_error(fmt::format("the vocabulary has no token for the byte 0x{:02X} and no unknown token",
                                         static_cast<unsigned char>(character[0])));
  }
  const auto length = static_cast<std::uint32_t>(character.size());
  if (settings_.fuse && symbols.size() > first && symbols.back().id == *settings_.unknown) {
    symbols.back().length += length;
  } else {
    symbols.push_back({*settings_.unknown, length});
  }
  return {};
}

}  // namespace vitrine::tokenizer
