#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer_parts.h"

namespace vitrine::tokenizer {

// What a piece is; GGUF files and SentencePiece models number it alike.
enum class PieceType : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

// A SentencePiece vocabulary from whatever file holds it. The views must stay valid during make_sentencepiece_parts
// only.
struct SentencePieceVocabulary {
  enum class Algorithm { kBpe, kUnigram, kWord, kCharacter };

  Algorithm algorithm = Algorithm::kBpe;
  std::vector<std::string_view> pieces;  // by id
  std::vector<float> scores;
  std::vector<PieceType> types;  // or none: all are normal
  std::optional<TokenId> unknown;
  bool byte_fallback = true;      // an unknown character becomes the pieces of its bytes
  bool adds_prefix = true;        // a space before the text
  bool prefix_is_behind = false;  // it goes behind the text instead
  bool collapses_spaces = false;
  std::string_view character_map;  // see CharacterMap; may be empty
  // As SentencePiece itself does: a user's symbols are found in the text once it is normalized as a whole, rather than
  // before, and the unknown piece is decoded as this text.
  std::optional<std::string> unknown_surface;

  PieceType type(std::size_t index) const { return types.empty() ? PieceType::kNormal : types[index]; }
};

// All of a tokenizer but the ids of what stands around a text. Fails with kBadFile, naming "tokens" or "scores".
base::Result<TokenizerParts> make_sentencepiece_parts(const SentencePieceVocabulary& source);

// Which pieces a model may produce from text; the others are found as they stand, or never.
bool is_listed(PieceType type);

// Puts the pieces at their ids: for every file whose tokens have types.
base::Result<void> add_typed_pieces(const std::vector<std::string_view>& pieces, const std::vector<PieceType>& types,
                                    Vocabulary& vocabulary);
// Those that are found as they stand; unknown and control ones are special.
base::Result<void> add_typed_special(const std::vector<std::string_view>& pieces, const std::vector<PieceType>& types,
                                     TokenizerParts& parts);

}  // namespace vitrine::tokenizer
