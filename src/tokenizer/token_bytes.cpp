#include "tokenizer/token_bytes.h"

#include <cstring>

namespace vitrine::tokenizer {

TokenBytes::TokenBytes(const Vocabulary& vocabulary, const DecodeRules& rules) {
  begins_.reserve(vocabulary.size() + 1);
  begins_.push_back(0);
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary.size(); ++id) {
    bytes_ += rules.bytes_of(vocabulary.piece(id));
    begins_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  bytes_.append(kCopiedBytes, '\0');
}

std::string TokenBytes::joined(std::span<const TokenId> ids) const {
  std::size_t size = 0;
  for (const TokenId id : ids)
    size += contains(id) ? size_of(id) : 0;
  std::string text(size + kCopiedBytes, '\0');
  char* out = text.data();
  for (const TokenId id : ids) {
    if (!contains(id)) continue;
    const char* const from = bytes_.data() + begins_[static_cast<std::size_t>(id)];
    const std::size_t length = size_of(id);
    std::memcpy(out, from, kCopiedBytes);
    if (length > kCopiedBytes) std::memcpy(out + kCopiedBytes, from + kCopiedBytes, length - kCopiedBytes);
    out += length;
  }
  text.resize(size);
  return text;
}

}  // namespace vitrine::tokenizer
