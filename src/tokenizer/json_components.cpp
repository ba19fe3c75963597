#include "tokenizer/json_components.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"
#include "tokenizer/character_map.h"
#include "tokenizer/decode_steps.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/model.h"
#include "tokenizer/oniguruma.h"

namespace vitrine::tokenizer {
namespace {

std::unique_ptr<Pattern> read_pattern(const JsonNode& node) {
  const bool is_literal = node.has("String");
  const JsonNode source = node.at(is_literal ? "String" : "Regex");
  const std::string text = source.string();
  if (is_literal && !text.empty()) return make_literal_pattern(text);
  // An empty text is found before every character.
  const auto expression = is_literal ? base::Result<std::string>("(?:)") : pcre_of_oniguruma(text);
  if (!expression) source.fail(expression.error().message);
  auto pattern = make_regex_pattern(*expression);
  if (!pattern) source.fail(pattern.error().message);
  return std::move(pattern).value();
}

std::unique_ptr<Pattern> known(std::string_view name) {
  return make_scan_pattern(known_pattern(name));
}

SplitBehavior read_behavior(const JsonNode& node) {
  const std::string name = node.string();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  node.fail(fmt::format("\"{}\" is not a split behavior", name));
}

std::string read_character(const JsonNode& node) {
  std::string character = node.string();
  if (character.empty() || base::utf8_length(character.front()) != character.size()) node.fail("must be one character");
  return character;
}

std::string read_replacement(const JsonNode& node) {
  return node.has("replacement") ? read_character(node.at("replacement")) : std::string(kSpaceMark);
}

PrependScheme read_prepend_scheme(const JsonNode& node) {
  if (!node.has("prepend_scheme")) {
    return node.boolean_or("add_prefix_space", true) ? PrependScheme::kAlways : PrependScheme::kNever;
  }
  const JsonNode scheme = node.at("prepend_scheme");
  const std::string name = scheme.string();
  if (name == "always") return PrependScheme::kAlways;
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  scheme.fail(fmt::format("\"{}\" is not a prepend scheme", name));
}

// Answers whether the step was ByteLevel.
bool read_pre_tokenizer_step(const JsonNode& node, PreTokenizer& out) {
  const std::string type = node.type();
  const auto add_split = [&out](std::string_view pattern, SplitBehavior behavior, bool invert) {
    out.add(make_split(known(pattern), behavior, invert));
  };
  if (type == "ByteLevel") {
    if (node.boolean_or("add_prefix_space", true)) out.add(make_prefix_space());
    if (node.boolean_or("use_regex", true)) add_split("gpt2", SplitBehavior::kIsolated, false);
    return true;
  }
  if (type == "Split") {
    out.add(make_split(read_pattern(node.at("pattern")), read_behavior(node.at("behavior")),
                       node.boolean_or("invert", false)));
  } else if (type == "Digits") {
    const bool individual = node.boolean_or("individual_digits", false);
    add_split(individual ? "number" : "numbers", SplitBehavior::kIsolated, false);
  } else if (type == "Metaspace") {
    out.add(make_metaspace(read_replacement(node), read_prepend_scheme(node), node.boolean_or("split", true)));
  } else if (type == "Whitespace") {
    add_split("words", SplitBehavior::kRemoved, true);
  } else if (type == "WhitespaceSplit") {
    add_split("space", SplitBehavior::kRemoved, false);
  } else if (type == "BertPreTokenizer") {
    add_split("space", SplitBehavior::kRemoved, false);
    add_split("punctuation", SplitBehavior::kIsolated, false);
  } else if (type == "CharDelimiterSplit") {
    out.add(make_split(make_literal_pattern(read_character(node.at("delimiter"))), SplitBehavior::kRemoved, false));
  } else if (type == "UnicodeScripts") {
    out.add(make_script_split());
  } else if (type == "FixedLength") {
    const std::int64_t length = node.has("length") ? node.at("length").integer() : 5;
    if (length < 1) node.at("length").fail("must be at least 1");
    out.add(make_fixed_length(static_cast<std::size_t>(length)));
  } else if (type == "Punctuation") {
    add_split("punctuation", node.has("behavior") ? read_behavior(node.at("behavior")) : SplitBehavior::kIsolated,
              false);
  } else {
    node.refuse_type();
  }
  return false;
}

void read_template(const JsonNode& node, TokenizerParts& parts) {
  const JsonNode pieces = node.at("single");
  std::vector<TokenId> before, after;
  bool seen_text = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const JsonNode piece = pieces.at(i);
    if (piece.has("Sequence")) {
      if (seen_text) piece.fail("the text is taken once");
      seen_text = true;
      continue;
    }
    const std::string name = piece.at("SpecialToken").at("id").string();
    const JsonNode ids = node.at("special_tokens").at(name).at("ids");
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const std::int64_t id = ids.at(k).integer();
      if (id < 0 || id > Vocabulary::kMaxId) ids.at(k).fail("is not a token id");
      (seen_text ? after : before).push_back(static_cast<TokenId>(id));
    }
  }
  if (!seen_text) pieces.fail("has no place for the text");
  parts.prefix_ids.insert(parts.prefix_ids.begin(), before.begin(), before.end());
  parts.suffix_ids.insert(parts.suffix_ids.end(), after.begin(), after.end());
}

TokenId read_token_pair(const JsonNode& node) {
  const std::int64_t id = node.at(1).integer();
  if (id < 0 || id > Vocabulary::kMaxId) node.at(1).fail("is not a token id");
  return static_cast<TokenId>(id);
}

std::size_t read_strip_count(const JsonNode& node) {
  const std::int64_t count = node.integer();
  if (count < 0 || count > 1024) node.fail("must be in 0..1024");
  return static_cast<std::size_t>(count);
}

std::unique_ptr<DecodeStep> read_strip_decoder(const JsonNode& node) {
  const std::string content = read_character(node.at("content"));
  return make_strip_decoder(content, read_strip_count(node.at("start")), read_strip_count(node.at("stop")));
}

std::unique_ptr<DecodeStep> read_replace_decoder(const JsonNode& node) {
  const JsonNode pattern = node.at("pattern");
  const std::string content = node.at("content").string();
  const bool is_literal = pattern.has("String") && !pattern.at("String").string().empty();
  if (is_literal) return make_replace_decoder(pattern.at("String").string(), content);
  return make_pattern_decoder(read_pattern(pattern), content);
}

std::unique_ptr<DecodeStep> read_wordpiece_decoder(const JsonNode& node) {
  const std::string prefix = node.string_or("prefix", "##");
  if (prefix.empty()) node.at("prefix").fail("is empty");
  return make_wordpiece_decoder(prefix, node.boolean_or("cleanup", true));
}

std::unique_ptr<DecodeStep> read_decoder_step(const JsonNode& node) {
  const std::string type = node.type();
  if (type == "ByteLevel") return make_byte_level_decoder();
  if (type == "ByteFallback") return make_byte_tokens_decoder(BadBytes::kWholeRun);
  if (type == "Fuse") return make_fuse_decoder();
  if (type == "Replace") return read_replace_decoder(node);
  if (type == "Strip") return read_strip_decoder(node);
  if (type == "WordPiece") return read_wordpiece_decoder(node);
  if (type == "Metaspace") {
    return make_metaspace_decoder(read_replacement(node), read_prepend_scheme(node) != PrependScheme::kNever);
  }
  if (type == "BPEDecoder") {
    const std::string suffix = node.string_or("suffix", "</w>");
    if (suffix.empty()) node.at("suffix").fail("is empty");
    return make_suffix_decoder(suffix);
  }
  if (type == "CTC") {
    return make_ctc_decoder(node.string_or("pad_token", "<pad>"), node.string_or("word_delimiter_token", "|"),
                            node.boolean_or("cleanup", true));
  }
  node.refuse_type();
}

void read_added_token(const JsonNode& node, TokenizerParts& parts) {
  const std::int64_t id = node.at("id").integer();
  if (id < 0 || id > Vocabulary::kMaxId) node.at("id").fail(fmt::format("must be in 0..{}", Vocabulary::kMaxId));
  AddedToken token{.id = static_cast<TokenId>(id), .content = node.at("content").string()};
  token.special = node.boolean_or("special", false);
  token.single_word = node.boolean_or("single_word", false);
  token.lstrip = node.boolean_or("lstrip", false);
  token.rstrip = node.boolean_or("rstrip", false);
  token.normalized = node.boolean_or("normalized", !token.special);
  if (auto done = add_token(parts, token); !done) node.fail(done.error().message);
}

std::optional<TokenId> read_special_id(const JsonNode& config, std::string_view name, const TokenizerParts& parts) {
  if (!config.has(name)) return std::nullopt;
  const JsonNode node = config.at(name);
  const std::string content = node.value().is_object() ? node.at("content").string() : node.string();
  const auto added = parts.added_ids.find(content);
  return added != parts.added_ids.end() ? added->second : parts.vocabulary->find(content);
}

void read_precompiled(const JsonNode& node, Normalizer& normalizer) {
  const auto blob = base::decode_base64(node.string());
  if (!blob) node.fail("is not base64");
  auto map = CharacterMap::read(*blob);
  if (!map) node.fail(map.error().message);
  normalizer.add(make_grapheme_map(std::move(map).value()));
}

void read_bert_normalizer(const JsonNode& node, Normalizer& normalizer) {
  const bool lowercases = node.boolean_or("lowercase", true);
  if (node.boolean_or("clean_text", true)) normalizer.add(make_clean_text());
  if (node.boolean_or("handle_chinese_chars", true)) normalizer.add(make_set_chinese_apart());
  if (node.boolean_or("strip_accents", lowercases)) {
    normalizer.add(make_unicode_form(UnicodeForm::kNfd));
    normalizer.add(make_drop_nonspacing_marks());
  }
  if (lowercases) normalizer.add(make_lowercase());
}

void read_normalizer_step(const JsonNode& node, Normalizer& normalizer) {
  const std::string type = node.type();
  if (type == "Replace") {
    normalizer.add(make_replace(read_pattern(node.at("pattern")), node.at("content").string()));
  } else if (type == "Prepend") {
    normalizer.add(make_prepend(node.at("prepend").string()));
  } else if (type == "NFC") {
    normalizer.add(make_unicode_form(UnicodeForm::kNfc));
  } else if (type == "NFD") {
    normalizer.add(make_unicode_form(UnicodeForm::kNfd));
  } else if (type == "NFKC") {
    normalizer.add(make_unicode_form(UnicodeForm::kNfkc));
  } else if (type == "NFKD") {
    normalizer.add(make_unicode_form(UnicodeForm::kNfkd));
  } else if (type == "Lowercase") {
    normalizer.add(make_lowercase());
  } else if (type == "Strip") {
    normalizer.add(make_strip(node.boolean_or("strip_left", true), node.boolean_or("strip_right", true)));
  } else if (type == "StripAccents") {
    normalizer.add(make_strip_accents());
  } else if (type == "Precompiled") {
    read_precompiled(node.at("precompiled_charsmap"), normalizer);
  } else if (type == "Nmt") {
    normalizer.add(make_nmt());
  } else if (type == "ByteLevel") {
    normalizer.add(make_spell_bytes());
  } else if (type == "BertNormalizer") {
    read_bert_normalizer(node, normalizer);
  } else {
    node.refuse_type();
  }
}

}  // namespace

void read_normalizer(const JsonNode& node, Normalizer& normalizer) {
  if (node.is_null()) return;
  if (node.type() != "Sequence") return read_normalizer_step(node, normalizer);
  const JsonNode steps = node.at("normalizers");
  for (std::size_t i = 0; i < steps.size(); ++i)
    read_normalizer(steps.at(i), normalizer);
}

bool read_pre_tokenizer(const JsonNode& node, PreTokenizer& pre_tokenizer) {
  if (node.is_null()) return false;
  if (node.type() != "Sequence") return read_pre_tokenizer_step(node, pre_tokenizer);
  const JsonNode steps = node.at("pretokenizers");
  bool byte_level = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (byte_level) pre_tokenizer.add(make_byte_spelling());  // what follows sees the spelling
    byte_level = read_pre_tokenizer(steps.at(i), pre_tokenizer);
  }
  return byte_level;
}

void read_decoder(const JsonNode& node, DecodeRules& rules) {
  if (node.is_null()) {
    rules.add(make_join_decoder(" "));
  } else if (node.type() == "Sequence") {
    const JsonNode steps = node.at("decoders");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps.at(i).is_null()) steps.at(i).fail("must be an object");
      read_decoder(steps.at(i), rules);
    }
  } else {
    rules.add(read_decoder_step(node));
  }
}

void read_post_processor(const JsonNode& node, TokenizerParts& parts) {
  if (node.is_null()) return;
  const std::string type = node.type();
  if (type == "Sequence") {
    const JsonNode steps = node.at("processors");
    for (std::size_t i = 0; i < steps.size(); ++i)
      read_post_processor(steps.at(i), parts);
  } else if (type == "TemplateProcessing") {
    read_template(node, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    parts.prefix_ids.insert(parts.prefix_ids.begin(), read_token_pair(node.at("cls")));
    parts.suffix_ids.push_back(read_token_pair(node.at("sep")));
  } else if (type != "ByteLevel") {  // ByteLevel changes offsets only
    node.refuse_type();
  }
}

void read_added_tokens(const JsonNode& node, TokenizerParts& parts) {
  if (node.is_null()) return;
  for (std::size_t i = 0; i < node.size(); ++i)
    read_added_token(node.at(i), parts);
}

void read_special_ids(const JsonNode& config, TokenizerParts& parts) {
  parts.ids.bos = read_special_id(config, "bos_token", parts);
  parts.ids.eos = read_special_id(config, "eos_token", parts);
  parts.ids.unk = read_special_id(config, "unk_token", parts);
  parts.ids.pad = read_special_id(config, "pad_token", parts);
}

}  // namespace vitrine::tokenizer
