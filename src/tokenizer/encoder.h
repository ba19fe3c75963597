#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::tokenizer {

// One call of Tokenizer::encode: the text's way through added tokens, normalizer, pre-tokenizer and model.
class Encoder {
 public:
  // Offsets are kept only if `tracked`.
  Encoder(const TokenizerParts& parts, bool tracked) : parts_(parts), tracked_(tracked) {}

  base::Result<void> run(std::string_view text, EncodeOptions options);
  const std::vector<EncodedToken>& tokens() const { return tokens_; }

 private:
  // Where the tokens of an earlier equal word stand in symbols_.
  struct CachedWord {
    std::uint64_t hash = 0;
    Range text;
    std::uint32_t first_symbol = 0;
    std::uint32_t num_symbols = 0;
  };

  base::Result<void> encode_valid(const AlignedText& text, bool parse_special);
  base::Result<void> encode_stretch(AlignedText text, bool at_start, bool parse_special);
  base::Result<void> encode_pieces(AlignedText text, bool at_start);
  base::Result<void> encode_piece(std::string_view text, Range piece);
  base::Result<void> encode_word(std::string_view text, Range word);
  void append_token(TokenId id, Range source) { tokens_.push_back({id, source.begin, source.end}); }
  void append_special(const std::vector<TokenId>& ids, std::size_t at);

  const TokenizerParts& parts_;
  bool tracked_;
  std::vector<EncodedToken> tokens_;
  std::vector<Symbol> symbols_, scratch_;
  std::vector<CachedWord> cache_;
};

}  // namespace vitrine::tokenizer
