#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tokenizer/bpe_model.h"
#include "tokenizer/decode_steps.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/sentencepiece_parts.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/wordpiece_model.h"

namespace vitrine::tokenizer {
namespace {

// What a name in tokenizer.ggml.pre stands for: splitter patterns (names of known_patterns(), or regular expressions)
// applied one after another, each to the pieces that the one before left, and whether a piece that is a token is taken
// without merging.
struct PreRow {
  std::string_view name;
  std::array<std::string_view, 5> patterns;
  bool ignore_merges = false;
};

constexpr PreRow kPreRows[] = {
    {"gpt-2", {"gpt2"}},
    {"phi-2", {"gpt2"}},
    {"mpt", {"gpt2"}},
    {"olmo", {"gpt2"}},
    {"jina-en", {"gpt2"}},
    {"smollm", {"number", "gpt2"}},
    {"starcoder", {"number", "gpt2"}},
    {"refact", {"number", "gpt2"}},
    {"command-r", {"number", "gpt2"}},
    {"codeshell", {"number", "gpt2"}},
    {"exaone", {"number", "gpt2"}},
    {"minerva-7b", {"number", "gpt2"}},
    {"llama-bpe", {"llama3"}, true},
    {"llama-v3", {"llama3"}, true},
    {"llama3", {"llama3"}, true},
    {"falcon3", {"llama3"}, true},
    {"pixtral", {"llama3"}, true},
    {"lfm2", {"llama3"}, true},
    {"dbrx", {"llama3"}},
    {"smaug-bpe", {"llama3"}},
    {"glm4", {"llama3"}},
    {"chatglm-bpe", {"llama3"}},
    {"qwen2", {"qwen2"}},
    {"deepseek-r1-qwen", {"qwen2"}},
    {"stablelm2", {"qwen2"}},
    {"megrez", {"qwen2"}},
    {"qwen35", {"qwen3.5"}},
    {"gpt-4o", {"o200k"}},
    {"llama4", {"o200k"}},
    {"tekken", {"tekken"}, true},
    {"falcon", {"falcon_marks", "gpt2", "digits_3"}},
    {"deepseek-coder",
     {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", "number"}},
    {"deepseek-v3", {"numbers_3", "deepseek_cjk", "deepseek_words"}},
    {"deepseek-r1", {"numbers_3", "deepseek_cjk", "deepseek_words"}},
};

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
  std::uint32_t rank = 0;
  for (const std::string_view merge : source.merges) {
    // A side may itself hold a space in vocabularies that are not byte-level; the first character is never the border.
    const std::size_t space = merge.empty() ? std::string_view::npos : merge.find(' ', 1);
    const std::string field = fmt::format("merges[{}]", rank);
    if (space == std::string_view::npos) return field_error(field, "must be two texts with a space between them");
    const NamedMerge named{merge.substr(0, space), merge.substr(space + 1)};
    if (auto done = add_merge(vocabulary, named, rank++, table); !done) return field_error(field, done.error().message);
  }
  return table;
}

std::unique_ptr<Pattern> splitter_pattern(std::string_view pattern) {
  const auto known = std::ranges::find(known_patterns(), pattern, &KnownPattern::name);
  if (known != known_patterns().end()) return make_scan_pattern(*known);
  return make_regex_pattern(pattern).value_or_throw();  // ours: it compiles
}

base::Result<TokenizerParts> read_byte_level(const GgufVocabulary& source) {
  const auto row = std::ranges::find(kPreRows, source.pre, &PreRow::name);
  if (row == std::end(kPreRows)) {
    return field_error("pre", fmt::format("the splitter \"{}\" is not known", source.pre));
  }
  TokenizerParts parts;
  for (const std::string_view pattern : row->patterns) {
    if (pattern.empty()) continue;
    parts.pre_tokenizer.add(make_split(splitter_pattern(pattern), SplitBehavior::kIsolated, false));
  }
  if (row->patterns[0] == "qwen2" || row->patterns[0] == "qwen3.5") {
    parts.normalizer.add(make_unicode_form(UnicodeForm::kNfc));  // the models' own tokenizer.json asks for it
  }
  const std::vector<PieceType> types = types_of(source);
  if (auto done = add_typed_pieces(source.tokens, types, *parts.vocabulary); !done) return with_prefix(done.error());
  auto merges = read_merges(source, *parts.vocabulary);
  if (!merges) return std::move(merges).error();
  const BpeSettings settings{
      .byte_level = true, .ignore_merges = row->ignore_merges, .unknown = {.unknown = source.unk}};
  parts.model = std::make_unique<BpeModel>(*parts.vocabulary, std::move(merges).value(), settings);
  parts.decode_rules.add(make_byte_level_decoder());
  if (auto done = add_typed_special(source.tokens, types, parts); !done) return with_prefix(done.error());
  set_affixes(source, row->ignore_merges, parts);
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

base::Result<TokenizerParts> read_parts(const GgufVocabulary& source) {
  if (source.model == "gpt2") return read_byte_level(source);
  if (source.model == "bert") return read_wordpiece_vocabulary(source);
  if (source.model == "gemma4") return read_character_bpe(source);
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
