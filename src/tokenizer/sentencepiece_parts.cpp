#include "tokenizer/sentencepiece_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tokenizer/character_map.h"
#include "tokenizer/scored_bpe_model.h"
#include "tokenizer/unigram_model.h"

namespace vitrine::tokenizer {
namespace {

PieceType type_at(const std::vector<PieceType>& types, std::size_t index) {
  return types.empty() ? PieceType::kNormal : types[index];
}

// Which pieces a merge may make.
std::vector<bool> find_made_pieces(const SentencePieceVocabulary& source) {
  std::vector<bool> made(source.pieces.size());
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = source.type(i) == PieceType::kNormal || source.type(i) == PieceType::kUserDefined;
  return made;
}

// The score of every piece that a unigram model may choose; the others are never chosen.
std::vector<double> unigram_scores(const SentencePieceVocabulary& source) {
  std::vector<double> scores(source.scores.begin(), source.scores.end());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (source.type(i) != PieceType::kNormal) scores[i] = UnigramModel::kNever;
  }
  return scores;
}

base::Result<void> add_text_rules(const SentencePieceVocabulary& source, TokenizerParts& parts) {
  if (!source.character_map.empty()) {
    auto map = CharacterMap::read(source.character_map);
    if (!map) return base::bad_file("precompiled_charsmap: " + map.error().message);
    parts.normalizer.add(make_character_map(std::move(map).value()));
  }
  if (source.collapses_spaces) parts.normalizer.add(make_collapse_spaces());
  if (source.adds_prefix) parts.normalizer.add(make_prepend(std::string(kSpaceMark)));
  parts.normalizer.add(make_replace(make_literal_pattern(" "), std::string(kSpaceMark)));
  parts.replaces_single_bytes = true;
  DecodeRules& rules = parts.decode_rules;
  rules.byte_fallback = true;
  rules.bad_bytes = DecodeRules::BadBytes::kSingleBytes;
  rules.replacements.push_back({std::string(kSpaceMark), " "});
  if (source.adds_prefix) {
    rules.strip_text.assign(1, ' ');
    rules.strip_count = 1;
  }
  return {};
}

std::unique_ptr<Model> make_model(const SentencePieceVocabulary& source, const Vocabulary& vocabulary) {
  const UnknownCharacters unknown(vocabulary,
                                  {.byte_fallback = source.byte_fallback, .fuse = true, .unknown = source.unknown});
  if (source.algorithm == SentencePieceVocabulary::Algorithm::kUnigram) {
    return std::make_unique<UnigramModel>(vocabulary, unigram_scores(source), unknown);
  }
  return std::make_unique<ScoredBpeModel>(vocabulary, source.scores, find_made_pieces(source), unknown);
}

base::Result<void> check_scores(const SentencePieceVocabulary& source) {
  if (source.scores.size() != source.pieces.size()) {
    return base::bad_file(
        fmt::format("scores: has {} elements, there are {} tokens", source.scores.size(), source.pieces.size()));
  }
  if (!std::ranges::all_of(source.scores, [](float score) { return std::isfinite(score); })) {
    return base::bad_file("scores: holds a number that is not finite");
  }
  return {};
}

}  // namespace

bool is_listed(PieceType type) {
  return type == PieceType::kNormal || type == PieceType::kByte || type == PieceType::kUserDefined;
}

base::Result<void> add_typed_pieces(const std::vector<std::string_view>& pieces, const std::vector<PieceType>& types,
                                    Vocabulary& vocabulary) {
  std::size_t num_bytes = 0;
  for (const std::string_view piece : pieces)
    num_bytes += piece.size();
  vocabulary.reserve(pieces.size(), num_bytes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const auto done =
        is_listed(type_at(types, i)) ? vocabulary.add(id, pieces[i]) : vocabulary.add_unlisted(id, pieces[i]);
    if (!done) return base::bad_file("tokens: " + done.error().message);
  }
  return {};
}

base::Result<void> add_typed_special(const std::vector<std::string_view>& pieces, const std::vector<PieceType>& types,
                                     TokenizerParts& parts) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PieceType type = type_at(types, i);
    const bool special = type == PieceType::kControl || type == PieceType::kUnknown;
    if ((!special && type != PieceType::kUserDefined) || pieces[i].empty()) continue;
    AddedToken token{.id = static_cast<TokenId>(i), .content = std::string(pieces[i]), .special = special};
    if (auto done = add_token(parts, token); !done) {
      return base::bad_file(fmt::format("tokens[{}]: {}", i, done.error().message));
    }
  }
  return {};
}

base::Result<TokenizerParts> make_sentencepiece_parts(const SentencePieceVocabulary& source) {
  if (auto done = check_scores(source); !done) return std::move(done).error();
  TokenizerParts parts;
  if (auto done = add_text_rules(source, parts); !done) return std::move(done).error();
  if (auto done = add_typed_pieces(source.pieces, source.types, *parts.vocabulary); !done) {
    return std::move(done).error();
  }
  parts.model = make_model(source, *parts.vocabulary);
  if (auto done = add_typed_special(source.pieces, source.types, parts); !done) return std::move(done).error();
  return parts;
}

}  // namespace vitrine::tokenizer
