#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <iterator>

#include "tokenizer/decode_steps.h"
#include "tokenizer/encoder.h"

namespace vitrine::tokenizer {
namespace {

// To take so many ids apart one by one costs as much as the table of all tokens' bytes.
constexpr std::size_t kIdsThatPay = 50'000;

}  // namespace

base::Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  Encoder encoder(parts_, caches_, false);
  if (auto done = encoder.run(text, options); !done) return std::move(done).error();
  return std::move(encoder).take_ids();
}

base::Result<std::vector<EncodedToken>> Tokenizer::encode_with_offsets(std::string_view text,
                                                                       EncodeOptions options) const {
  Encoder encoder(parts_, caches_, true);
  if (auto done = encoder.run(text, options); !done) return std::move(done).error();
  return std::move(encoder).take_tokens();
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  if (const TokenBytes* bytes = bytes_to_join(ids.size())) {
    std::vector<TokenId> kept;
    if (skip_special) {
      std::ranges::copy_if(ids, std::back_inserter(kept), [this](TokenId id) { return !is_special(id); });
      ids = kept;
    }
    return repaired(bytes->joined(ids), BadBytes::kMaximalSubpart);
  }
  PieceDecoder decoder(parts_.decode_rules, true);
  std::string text;
  for (const TokenId id : ids) {
    if (!contains(id) || (skip_special && is_special(id))) continue;
    text += decoder.push(piece(id));
  }
  return text + decoder.finish();
}

const TokenBytes* Tokenizer::bytes_to_join(std::size_t num_ids) const {
  if (!parts_.decode_rules.joins_bytes()) return nullptr;
  const TokenBytes* built = token_bytes_.load(std::memory_order_acquire);
  if (built != nullptr || num_ids < kIdsThatPay) return built;
  std::call_once(token_bytes_once_, [this] {
    built_token_bytes_ = std::make_unique<const TokenBytes>(*parts_.vocabulary, parts_.decode_rules);
    token_bytes_.store(built_token_bytes_.get(), std::memory_order_release);
  });
  return built_token_bytes_.get();
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
  if (!tokenizer_->contains(id) || (skip_special_ && tokenizer_->is_special(id))) return {};
  return decoder_.push(tokenizer_->piece(id));
}

}  // namespace vitrine::tokenizer
