#include <fmt/format.h>

#include <string>
#include <utility>

#include "tokenizer/bpe_model.h"
#include "tokenizer/decode_steps.h"
#include "tokenizer/gguf_splitters.h"
#include "tokenizer/sentencepiece_parts.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/wordpiece_model.h"

namespace vitrine::tokenizer {
namespace {

base::Error field_error(std::string_view field, std::string_view reason) {
  return base::bad_file(fmt::format("tokenizer.ggml.{}: {}", field, reason));
}

base::Result<void> check_sizes(const GgufVocabulary& source) {
  const std::size_t num_tokens = source.tokens.size();
  if (num_tokens == 0) return field_error("tokens", "is empty");
  if (num_tokens > static_cast<std::size_t>(Vocabulary::kMaxId)) return field_error("tokens", "has too many elements");
  if (!source.token_types.empty() && source.token_types.size() != num_tokens) {
    return field_error("token_type",
                       fmt::format("has {} elements, there are {} tokens", source.token_types.size(), num_tokens));
  }
  const auto check_id = [num_tokens](std::string_view field, std::optional<TokenId> id) -> base::Result<void> {
    if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < num_tokens)) return {};
    return field_error(field, fmt::format("id {} is not in 0..{}", *id, num_tokens - 1));
  };
  const std::pair<std::string_view, std::optional<TokenId>> fields[] = {
      {"bos_token_id", source.bos},     {"eos_token_id", source.eos},      {"unknown_token_id", source.unk},
      {"padding_token_id", source.pad}, {"eot_token_id", source.eot},      {"eom_token_id", source.eom},
      {"cls_token_id", source.cls},     {"seperator_token_id", source.sep}};
  for (const auto& [field, id] : fields) {
    if (auto done = check_id(field, id); !done) return done;
  }
  for (const TokenId id : source.eog) {
    if (auto done = check_id("eog", id); !done) return done;
  }
  return {};
}

// tokenizer.ggml.token_type as the GGUF specification numbers them.
std::vector<PieceType> types_of(const GgufVocabulary& source) {
  std::vector<PieceType> types;
  for (const std::int32_t type : source.token_types)
    types.push_back(static_cast<PieceType>(type));
  return types;
}

base::Error with_prefix(const base::Error& error) {
  return {error.kind, "tokenizer.ggml." + error.message};
}

void set_ids(const GgufVocabulary& source, TokenizerParts& parts) {
  parts.ids.bos = source.bos;
  parts.ids.eos = source.eos;
  parts.ids.unk = source.unk;
  parts.ids.pad = source.pad;
  parts.ids.end_of_generation = source.eog;
  for (const auto id : {source.eot, source.eom}) {
    if (id) parts.ids.end_of_generation.push_back(*id);
  }
  complete_end_of_generation(parts);
}

void set_affixes(const GgufVocabulary& source, bool adds_bos, TokenizerParts& parts) {
  if (source.bos && source.add_bos.value_or(adds_bos)) parts.prefix_ids = {*source.bos};
  if (source.eos && source.add_eos.value_or(false)) parts.suffix_ids = {*source.eos};
}

base::Result<MergeTable> read_merges(const GgufVocabulary& source, const Vocabulary& vocabulary) {
  MergeTable table(source.merges.size());
  MergeReader reader("tokenizer.ggml.merges", vocabulary, table);
  for (const std::string_view merge : source.merges) {
    // A side may itself hold a space in vocabularies that are not byte-level; the first character is never the border.
    const std::size_t space = merge.empty() ? std::string_view::npos : merge.find(' ', 1);
    if (space == std::string_view::npos) {
      return field_error(fmt::format("merges[{}]", reader.num_added()), "must be two texts with a space between them");
    }
    if (auto done = reader.add({merge.substr(0, space), merge.substr(space + 1)}); !done) return done.error();
  }
  if (auto done = reader.finish(); !done) return done.error();
  return table;
}

base::Result<TokenizerParts> read_byte_level(const GgufVocabulary& source) {
  const GgufSplitter* row = find_gguf_splitter(source.pre);
  if (row == nullptr) {
    return field_error("pre", fmt::format("the splitter \"{}\" is not known", source.pre));
  }
  TokenizerParts parts;
  for (const std::string_view pattern : row->patterns) {
    if (pattern.empty()) continue;
    parts.pre_tokenizer.add(make_split(splitter_pattern(pattern), SplitBehavior::kIsolated, false));
  }
  if (row->normalizes) parts.normalizer.add(make_unicode_form(UnicodeForm::kNfc));
  const std::vector<PieceType> types = types_of(source);
  if (auto done = add_typed_pieces(source.tokens, types, *parts.vocabulary); !done) return with_prefix(done.error());
  auto merges = read_merges(source, *parts.vocabulary);
  if (!merges) return std::move(merges).error();
  const BpeSettings settings{
      .byte_level = true, .ignore_merges = row->ignores_merges, .unknown = {.unknown = source.unk}};
  parts.model = std::make_unique<BpeModel>(*parts.vocabulary, std::move(merges).value(), settings);
  parts.decode_rules.add(make_byte_level_decoder());
  if (auto done = add_typed_special(source.tokens, types, parts); !done) return with_prefix(done.error());
  set_affixes(source, row->adds_bos, parts);
  return parts;
}

base::Result<TokenizerParts> read_sentencepiece(const GgufVocabulary& source,
                                                SentencePieceVocabulary::Algorithm algorithm) {
  SentencePieceVocabulary vocabulary;
  vocabulary.algorithm = algorithm;
  vocabulary.pieces = source.tokens;
  vocabulary.scores = source.scores;
  vocabulary.types = types_of(source);
  vocabulary.unknown = source.unk;
  vocabulary.character_map = source.charsmap;
  vocabulary.byte_fallback = algorithm == SentencePieceVocabulary::Algorithm::kBpe;
  vocabulary.adds_prefix = source.add_space_prefix.value_or(true);
  vocabulary.collapses_spaces = source.remove_extra_whitespaces.value_or(false);
  auto parts = make_sentencepiece_parts(vocabulary);
  if (!parts) return with_prefix(parts.error());
  set_affixes(source, true, *parts);
  return parts;
}

// Runs of line ends are tokens that no merge makes: the model's own tokenizer.json adds them.
base::Result<void> add_line_ends(const GgufVocabulary& source, TokenizerParts& parts) {
  for (std::size_t i = 0; i < source.tokens.size(); ++i) {
    const std::string_view token = source.tokens[i];
    if (token.size() < 2 || token.find_first_not_of('\n') != std::string_view::npos) continue;
    if (auto done = add_token(parts, {.id = static_cast<TokenId>(i), .content = std::string(token)}); !done) {
      return field_error(fmt::format("tokens[{}]", i), done.error().message);
    }
  }
  return {};
}

// Gemma 4: BPE over characters with listed merges, in the manner of SentencePiece.
base::Result<TokenizerParts> read_character_bpe(const GgufVocabulary& source) {
  TokenizerParts parts;
  parts.normalizer.add(make_replace(make_literal_pattern(" "), std::string(kSpaceMark)));
  const std::vector<PieceType> types = types_of(source);
  if (auto done = add_typed_pieces(source.tokens, types, *parts.vocabulary); !done) return with_prefix(done.error());
  auto merges = read_merges(source, *parts.vocabulary);
  if (!merges) return std::move(merges).error();
  const BpeSettings settings{.unknown = {.byte_fallback = true, .fuse = true, .unknown = source.unk}};
  parts.model = std::make_unique<BpeModel>(*parts.vocabulary, std::move(merges).value(), settings);
  parts.decode_rules.add(make_replace_decoder(std::string(kSpaceMark), " "));
  parts.decode_rules.add(make_byte_tokens_decoder(BadBytes::kWholeRun));
  if (auto done = add_typed_special(source.tokens, types, parts); !done) return with_prefix(done.error());
  if (auto done = add_line_ends(source, parts); !done) return std::move(done).error();
  set_affixes(source, true, parts);
  return parts;
}

// BERT's pieces, spelled with a U+2581 before those that begin a word in place of "##" before the others.
base::Result<TokenizerParts> read_wordpiece_vocabulary(const GgufVocabulary& source) {
  TokenizerParts parts;
  parts.normalizer.add(make_clean_text());
  parts.normalizer.add(make_set_chinese_apart());
  parts.normalizer.add(make_unicode_form(UnicodeForm::kNfd));
  parts.normalizer.add(make_drop_nonspacing_marks());
  parts.normalizer.add(make_lowercase());
  parts.pre_tokenizer.add(make_split(splitter_pattern("space"), SplitBehavior::kRemoved, false));
  parts.pre_tokenizer.add(make_split(splitter_pattern("punctuation"), SplitBehavior::kIsolated, false));
  const std::vector<PieceType> types = types_of(source);
  if (auto done = add_typed_pieces(source.tokens, types, *parts.vocabulary); !done) return with_prefix(done.error());
  if (!source.unk) return field_error("unknown_token_id", "is missing");
  parts.model =
      std::make_unique<WordPieceModel>(*parts.vocabulary, WordPieceSettings{.start_prefix = std::string(kSpaceMark),
                                                                            .continuation_prefix = "",
                                                                            .max_word_chars = 100,
                                                                            .unknown = *source.unk});
  parts.decode_rules.add(make_repair_decoder(BadBytes::kMaximalSubpart));
  parts.decode_rules.add(make_replace_decoder(std::string(kSpaceMark), " "));
  parts.decode_rules.add(make_fuse_decoder());
  parts.decode_rules.add(make_strip_decoder(" ", 1, 0));
  if (auto done = add_typed_special(source.tokens, types, parts); !done) return with_prefix(done.error());
  if (const auto first = source.cls ? source.cls : source.bos) parts.prefix_ids = {*first};
  if (const auto last = source.sep ? source.sep : source.eos) parts.suffix_ids = {*last};
  return parts;
}

// Splitters of vocabularies that are not spelled in the byte alphabet.
bool has_plain_characters(std::string_view pre) {
  return pre == "gemma4" || pre == "granite-embed-multi-311m" || pre == "sarvam-moe";
}

base::Result<TokenizerParts> read_parts(const GgufVocabulary& source) {
  if (source.model == "gpt2" && !has_plain_characters(source.pre)) return read_byte_level(source);
  if (source.model == "bert") return read_wordpiece_vocabulary(source);
  if (source.model == "gemma4" || source.model == "gpt2") return read_character_bpe(source);
  if (source.model == "t5") return read_sentencepiece(source, SentencePieceVocabulary::Algorithm::kUnigram);
  if (source.model == "llama") return read_sentencepiece(source, SentencePieceVocabulary::Algorithm::kBpe);
  return field_error("model", fmt::format("the tokenizer \"{}\" is not supported", source.model));
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const GgufVocabulary& vocabulary) {
  if (auto done = check_sizes(vocabulary); !done) return std::move(done).error();
  auto parts = read_parts(vocabulary);
  if (!parts) return std::move(parts).error();
  set_ids(vocabulary, *parts);
  return std::make_unique<Tokenizer>(std::move(parts).value());
}

}  // namespace vitrine::tokenizer
