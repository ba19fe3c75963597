#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/decoder.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// The bytes of a vocabulary's tokens, laid out to be joined fast. Immutable once built; any thread.
class TokenBytes {
 public:
  TokenBytes(const Vocabulary& vocabulary, const DecodeRules& rules);

  // The bytes of all ids, one after another; ids outside the vocabulary have none.
  std::string joined(std::span<const TokenId> ids) const;

 private:
  // Copied at once, which is enough for nearly all tokens.
  static constexpr std::size_t kCopiedBytes = 16;

  bool contains(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) + 1 < begins_.size(); }
  std::size_t size_of(TokenId id) const {
    return begins_[static_cast<std::size_t>(id) + 1] - begins_[static_cast<std::size_t>(id)];
  }

  std::string bytes_;
  std::vector<std::uint32_t> begins_;  // by id, and where the last one ends
};

}  // namespace vitrine::tokenizer
