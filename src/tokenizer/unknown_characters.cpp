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

base::Result<void> UnknownCharacters::append(std::string_view character, std::size_t first,
                                             std::vector<Symbol>& symbols) const {
  const auto id_of = [this](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
  if (std::ranges::all_of(character, [&](char byte) { return id_of(byte) >= 0; })) {
    for (const char byte : character)
      symbols.push_back({id_of(byte), 1});
    return {};
  }
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
