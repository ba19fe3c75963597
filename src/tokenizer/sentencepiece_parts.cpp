#include "tokenizer/sentencepiece_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tokenizer/character_map.h"
#include "tokenizer/decode_steps.h"
#include "tokenizer/scored_bpe_model.h"
#include "tokenizer/unigram_model.h"
#include "tokenizer/wordlevel_model.h"

namespace vitrine::tokenizer {
namespace {

// A piece's places in the vocabulary's tables are fetched while so many before it are put in.
constexpr std::size_t kPiecesAhead = 16;

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

SentencePieceSpelling spelling_of(const SentencePieceVocabulary& source) {
  using Start = SentencePieceSpelling::Start;
  SentencePieceSpelling spelling{.mark = std::string(kSpaceMark), .unknown = {}, .surface = *source.unknown_surface};
  if (source.unknown) spelling.unknown = source.pieces[static_cast<std::size_t>(*source.unknown)];
  if (source.adds_prefix) spelling.start = Start::kTakesOne;
  if (source.collapses_spaces) spelling.start = Start::kTakesAll;
  return spelling;
}

base::Result<void> add_text_rules(const SentencePieceVocabulary& source, TokenizerParts& parts) {
  if (!source.character_map.empty()) {
    auto map = CharacterMap::read(source.character_map);
    if (!map) return base::bad_file("precompiled_charsmap: " + map.error().message);
    parts.normalizer.add(make_character_map(std::move(map).value()));
  }
  if (source.collapses_spaces) parts.normalizer.add(make_collapse_spaces());
  if (source.adds_prefix) {
    const std::string mark(kSpaceMark);
    parts.normalizer.add(source.prefix_is_behind ? make_append(mark) : make_prepend(mark));
  }
  parts.normalizer.add(make_replace(make_literal_pattern(" "), std::string(kSpaceMark)));
  parts.replaces_single_bytes = true;
  DecodeRules& rules = parts.decode_rules;
  if (source.unknown_surface) {
    rules.add(make_sentencepiece_decoder(spelling_of(source)));
    rules.add(make_byte_tokens_decoder(BadBytes::kSingleBytes));
    return {};
  }
  rules.add(make_replace_decoder(std::string(kSpaceMark), " "));
  rules.add(make_byte_tokens_decoder(BadBytes::kSingleBytes));
  if (source.adds_prefix) {
    rules.add(make_fuse_decoder());
    rules.add(make_strip_decoder(" ", 1, 0));
  }
  return {};
}

std::unique_ptr<Model> make_model(const SentencePieceVocabulary& source, const Vocabulary& vocabulary) {
  const UnknownCharacters unknown(vocabulary,
                                  {.byte_fallback = source.byte_fallback, .fuse = true, .unknown = source.unknown});
  using Algorithm = SentencePieceVocabulary::Algorithm;
  using Words = WordLevelModel::Words;
  if (source.algorithm == Algorithm::kWord || source.algorithm == Algorithm::kCharacter) {
    const Words words = source.algorithm == Algorithm::kWord ? Words::kSpaceMarked : Words::kCharacters;
    return std::make_unique<WordLevelModel>(vocabulary, words, unknown);
  }
  if (source.algorithm == Algorithm::kUnigram) {
    return std::make_unique<UnigramModel>(vocabulary, unigram_scores(source), unknown);
  }
  return std::make_unique<ScoredBpeModel>(vocabulary, source.scores, find_made_pieces(source), unknown);
}

// Symbols of the user, which are found in normalized text.
base::Result<void> add_user_symbols(const SentencePieceVocabulary& source, TokenizerParts& parts) {
  for (std::size_t i = 0; i < source.pieces.size(); ++i) {
    if (source.type(i) != PieceType::kUserDefined || source.pieces[i].empty()) continue;
    const AddedToken token{.id = static_cast<TokenId>(i), .content = std::string(source.pieces[i])};
    parts.added_ids.emplace(token.content, token.id);
    if (auto done = parts.normalized_matcher.add(token, source.pieces[i]); !done) {
      return base::bad_file(fmt::format("tokens[{}]: {}", i, done.error().message));
    }
  }
  return {};
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
    if (i + kPiecesAhead < pieces.size()) vocabulary.prefetch(pieces[i + kPiecesAhead]);
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
  if (!source.unknown_surface) {
    if (auto done = add_typed_special(source.pieces, source.types, parts); !done) return std::move(done).error();
    return parts;
  }
  std::vector<PieceType> types = source.types;
  std::ranges::replace(types, PieceType::kUserDefined, PieceType::kNormal);
  if (auto done = add_typed_special(source.pieces, types, parts); !done) return std::move(done).error();
  // In a model of words they are words as others.
  if (source.algorithm == SentencePieceVocabulary::Algorithm::kWord) return parts;
  if (auto done = add_user_symbols(source, parts); !done) return std::move(done).error();
  return parts;
}

}  // namespace vitrine::tokenizer
