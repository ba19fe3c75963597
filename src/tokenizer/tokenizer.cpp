#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "tokenizer/encoder.h"

namespace vitrine::tokenizer {

base::Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  Encoder encoder(parts_, false);
  if (auto done = encoder.run(text, options); !done) return std::move(done).error();
  return std::move(encoder).take_ids();
}

base::Result<std::vector<EncodedToken>> Tokenizer::encode_with_offsets(std::string_view text,
                                                                       EncodeOptions options) const {
  Encoder encoder(parts_, true);
  if (auto done = encoder.run(text, options); !done) return std::move(done).error();
  return std::move(encoder).take_tokens();
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  PieceDecoder decoder(parts_.decode_rules, true);
  std::string text;
  for (const TokenId id : ids) {
    if (!parts_.vocabulary->contains(id) || (skip_special && is_special(id))) continue;
    text += decoder.push(piece(id));
  }
  return text + decoder.finish();
}

std::optional<TokenId> Tokenizer::find(std::string_view piece) const {
  if (const auto added = parts_.added_ids.find(std::string(piece)); added != parts_.added_ids.end()) {
    return added->second;
  }
  return parts_.vocabulary->find(piece);
}

bool Tokenizer::is_special(TokenId id) const {
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < parts_.is_special.size() && parts_.is_special[index];
}

bool Tokenizer::is_end_of_generation(TokenId id) const {
  return std::ranges::binary_search(parts_.ids.end_of_generation, id);
}

std::string Detokenizer::push(TokenId id) {
  if (tokenizer_->piece(id).empty() || (skip_special_ && tokenizer_->is_special(id))) return {};
  return decoder_.push(tokenizer_->piece(id));
}

}  // namespace vitrine::tokenizer
