#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/word_encoder.h"

namespace vitrine::tokenizer {

// One call of Tokenizer::encode: the text's way through added tokens, normalizer, pre-tokenizer and model.
class Encoder {
 public:
  // Offsets are kept only if `tracked`.
  Encoder(const TokenizerParts& parts, IdCachePool& caches, bool tracked);

  base::Result<void> run(std::string_view text, EncodeOptions options);
  // The tokens, of which a call that is not tracked has the ids alone.
  std::vector<EncodedToken> take_tokens() && { return std::move(tokens_); }
  std::vector<TokenId> take_ids() && { return std::move(ids_); }

 private:
  // The text as it is goes to words_.
  bool takes_text_as_it_is() const { return words_ && parts_.normalizer.empty() && parts_.normalized_matcher.empty(); }
  base::Result<void> encode_as_it_is(std::string_view text, bool parse_special);
  base::Result<void> encode_valid(const AlignedText& text, bool parse_special);
  base::Result<void> encode_stretch(AlignedText text, bool at_start, bool parse_special);
  base::Result<void> encode_pieces(AlignedText text, bool at_start);
  base::Result<void> encode_block(AlignedText& text, Range block, bool at_start);
  base::Result<void> encode_piece(std::string_view text, Range piece);
  base::Result<void> encode_word(std::string_view text, Range word);
  base::Result<void> encode_new_word(std::string_view word);
  void append_token(TokenId id, Range source) {
    if (tracked_) {
      tokens_.push_back({id, source.begin, source.end});
    } else {
      ids_.push_back(id);
    }
  }
  void append_special(const std::vector<TokenId>& ids, std::size_t at);

  const TokenizerParts& parts_;
  bool tracked_;
  bool cuts_before_spaces_;
  IdCachePool& caches_;
  std::optional<WordEncoder> words_;
  std::vector<EncodedToken> tokens_;
  std::vector<TokenId> ids_;
  std::vector<Range> pieces_;
  std::vector<Symbol> symbols_, scratch_;
  WordCache cache_;
};

}  // namespace vitrine::tokenizer
