#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

// What must hold of every tokenizer that a file could be made into.
namespace vitrine::fuzz {

inline bool has_byte_tokens(const tokenizer::Tokenizer& tokens, std::span<const TokenId> ids) {
  return std::ranges::any_of(ids, [&](TokenId id) { return tokens.piece(id).starts_with("<0x"); });
}

// A stream says what decoding at once says. It can't where a broken run of byte tokens takes back what it has given
// out.
inline void check_decoding(const tokenizer::Tokenizer& tokens, std::span<const TokenId> ids) {
  for (const bool skips : {false, true}) {
    const std::string text = tokens.decode(ids, skips);
    VT_CHECK(base::is_valid_utf8(text), "a text that is not UTF-8");
    tokenizer::Detokenizer detokenizer(tokens, skips);
    std::string streamed;
    for (const TokenId id : ids) {
      const std::string delta = detokenizer.push(id);
      VT_CHECK(base::is_valid_utf8(delta), "a part of a stream that is not UTF-8");
      streamed += delta;
    }
    streamed += detokenizer.finish();
    VT_CHECK(streamed == text || (has_byte_tokens(tokens, ids) && text.find("\uFFFD") != std::string::npos),
             "a stream that says something else");
  }
}

inline void check_encoding(const tokenizer::Tokenizer& tokens, std::string_view text,
                           tokenizer::EncodeOptions options) {
  const auto ids = tokens.encode(text, options);
  const auto placed = tokens.encode_with_offsets(text, options);
  VT_CHECK(ids.has_value() == placed.has_value(), "ids without places");
  if (!ids) return;
  VT_CHECK(ids->size() == placed->size(), "as many ids as places");
  for (std::size_t i = 0; i < ids->size(); ++i) {
    const tokenizer::EncodedToken& token = (*placed)[i];
    VT_CHECK(token.id == (*ids)[i], "the same ids");
    VT_CHECK(token.start <= token.end && token.end <= text.size(), "a place outside the text");
    VT_CHECK(!tokens.piece(token.id).empty(), "a token without text");
  }
  check_decoding(tokens, *ids);
}

// `text`: any bytes.
inline void check_tokenizer(const tokenizer::Tokenizer& tokens, std::string_view text) {
  check_encoding(tokens, text, {.parse_special = true, .add_special = true});
  check_encoding(tokens, text, {});
  std::vector<TokenId> ids = {-1, static_cast<TokenId>(tokens.vocab_size())};
  for (const char c : text)
    ids.push_back(static_cast<TokenId>(static_cast<unsigned char>(c) % (tokens.vocab_size() + 1)));
  check_decoding(tokens, ids);
}

}  // namespace vitrine::fuzz
