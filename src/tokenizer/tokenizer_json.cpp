#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokenizer/bpe_model.h"
#include "tokenizer/json_components.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unigram_model.h"
#include "tokenizer/wordlevel_model.h"
#include "tokenizer/wordpiece_model.h"

// tokenizer.json is 1 to 33 MB, nearly all of it the vocabulary and the merges. Those two are read by simdjson without
// building a tree; the small sections around them are handed to the readers of json_components.h.
namespace vitrine::tokenizer {
namespace {

namespace ondemand = simdjson::ondemand;

// Pieces that wait while their places in the vocabulary's tables are fetched.
constexpr std::size_t kPieceBatch = 32;
// Of JSON per merge, on average, in the vocabularies at hand: 20 to 50.
constexpr std::size_t kLeastMergeBytes = 20;

[[noreturn]] void fail(std::string_view path, std::string_view reason) {
  throw base::Exception(base::ErrorKind::kBadFile, fmt::format("{}: {}", path, reason));
}

// The text of each member of an object, by name.
using Members = std::unordered_map<std::string, std::string_view>;

// A text inside the padded copy of the file: simdjson may read a little past the end of each.
class PaddedText {
 public:
  explicit PaddedText(std::string_view json) : text_(json) {}

  simdjson::padded_string_view view(std::string_view part) const {
    const auto offset = static_cast<std::size_t>(part.data() - text_.data());
    return simdjson::padded_string_view(part.data(), part.size(), text_.size() + simdjson::SIMDJSON_PADDING - offset);
  }
  std::string_view whole() const { return {text_.data(), text_.size()}; }

 private:
  simdjson::padded_string text_;
};

Members read_members(const PaddedText& text, std::string_view part, std::string_view path) {
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text.view(part));
  Members members;
  for (auto field : document.get_object()) {
    std::string name(std::string_view(field.unescaped_key()));
    ondemand::value value = field.value();
    const std::string_view json = simdjson::to_json_string(value);
    if (!members.emplace(name, json).second) fail(path, fmt::format("\"{}\" is given twice", name));
  }
  const bool at_end = document.current_location().error() != simdjson::SUCCESS;
  if (!at_end) fail(path, "more text behind the object");
  return members;
}

nlohmann::json member(const Members& members, const std::string& name, std::string_view path) {
  const auto found = members.find(name);
  return found == members.end() ? nlohmann::json() : parse_small_json(found->second, path);
}

std::string_view required(const Members& members, const std::string& name, std::string_view path) {
  const auto found = members.find(name);
  if (found == members.end()) fail(path, fmt::format("\"{}\" is missing", name));
  return found->second;
}

void read_listed_vocabulary(const PaddedText& text, std::string_view part, Vocabulary& vocabulary) {
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text.view(part));
  // About sixteen bytes of JSON per entry in the vocabularies at hand.
  vocabulary.reserve(part.size() / 16, part.size() / 2);
  std::vector<std::pair<TokenId, std::string_view>> batch;
  const auto add_batch = [&] {
    for (const auto& [id, piece] : batch) {
      if (auto done = vocabulary.add(id, piece); !done) fail("model.vocab", done.error().message);
    }
    batch.clear();
  };
  for (auto field : document.get_object()) {
    const std::string_view piece = field.unescaped_key();
    const std::int64_t id = field.value().get_int64();
    if (id < 0 || id > Vocabulary::kMaxId) {
      fail("model.vocab", fmt::format("\"{}\" has id {}, which is not in 0..{}", piece, id, Vocabulary::kMaxId));
    }
    vocabulary.prefetch(piece);
    batch.emplace_back(static_cast<TokenId>(id), piece);
    if (batch.size() == kPieceBatch) add_batch();
  }
  add_batch();
}

// A merge is "left right" or ["left", "right"].
NamedMerge read_merge(ondemand::value value, std::size_t index) {
  const auto broken = [index] { fail(fmt::format("model.merges[{}]", index), "must be two texts"); };
  if (value.type() == ondemand::json_type::string) {
    const std::string_view both = value.get_string();
    const std::size_t space = both.find(' ');
    if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) broken();
    return {both.substr(0, space), both.substr(space + 1)};
  }
  NamedMerge merge;
  std::size_t count = 0;
  for (auto element : value.get_array()) {
    const std::string_view side = element.get_string();
    (count == 0 ? merge.left : merge.right) = side;
    if (++count > 2) broken();
  }
  if (count != 2) broken();
  return merge;
}

struct Merges {
  MergeTable table;
  FlatMap<char> joined_to_space;
};

Merges read_merges(const PaddedText& text, std::string_view part, const Vocabulary& vocabulary,
                   std::size_t prefix_bytes) {
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text.view(part));
  const std::size_t num_expected = std::min(part.size() / kLeastMergeBytes, 2 * vocabulary.size());
  Merges merges{MergeTable(num_expected), FlatMap<char>()};
  MergeReader reader("model.merges", vocabulary, merges.table, prefix_bytes);
  for (auto element : document.get_array()) {
    const NamedMerge merge = read_merge(element.value(), reader.num_added());
    if (auto done = reader.add(merge); !done) throw base::Exception(done.error());
    note_join_to_space(merge, merges.joined_to_space);
  }
  if (auto done = reader.finish(); !done) throw base::Exception(done.error());
  return merges;
}

void refuse_dropout(const Members& members) {
  const nlohmann::json value = member(members, "dropout", "model.dropout");
  const bool is_none = value.is_null() || (value.is_number() && value.get<double>() == 0);
  if (!is_none) fail("model.dropout", "is not supported: it leaves merges out at random; set it to null");
}

std::string read_text(const Members& members, const std::string& name, std::string_view otherwise) {
  const nlohmann::json value = member(members, name, "model." + name);
  return value.is_null() ? std::string(otherwise) : JsonNode(value, "model." + name).string();
}

// The id of the unknown token, if there is one.
std::optional<TokenId> read_unknown(const Members& members, const Vocabulary& vocabulary) {
  const nlohmann::json unknown = member(members, "unk_token", "model.unk_token");
  if (unknown.is_null()) return std::nullopt;
  const std::string name = JsonNode(unknown, "model.unk_token").string();
  const auto id = vocabulary.find(name);
  if (!id) fail("model.unk_token", fmt::format("\"{}\" is not in the vocabulary", name));
  return id;
}

bool read_flag(const Members& members, const std::string& name) {
  const nlohmann::json value = member(members, name, "model." + name);
  return !value.is_null() && JsonNode(value, "model." + name).boolean();
}

std::unique_ptr<Model> read_bpe(const PaddedText& text, const Members& members, bool byte_level,
                                Vocabulary& vocabulary) {
  refuse_dropout(members);
  read_listed_vocabulary(text, required(members, "vocab", "model"), vocabulary);
  BpeSettings settings;
  settings.byte_level = byte_level;
  settings.ignore_merges = read_flag(members, "ignore_merges");
  settings.unknown.byte_fallback = read_flag(members, "byte_fallback");
  settings.unknown.fuse = read_flag(members, "fuse_unk");
  settings.unknown.unknown = read_unknown(members, vocabulary);
  settings.continuation_prefix = read_text(members, "continuing_subword_prefix", "");
  settings.end_of_word_suffix = read_text(members, "end_of_word_suffix", "");
  const bool is_spelled = !settings.continuation_prefix.empty() || !settings.end_of_word_suffix.empty();
  Merges merges =
      read_merges(text, required(members, "merges", "model"), vocabulary, settings.continuation_prefix.size());
  auto model = std::make_unique<BpeModel>(vocabulary, std::move(merges.table), settings);
  if (!byte_level && !is_spelled) model->set_joined_to_space(std::move(merges.joined_to_space));
  return model;
}

// [["piece", score], ...]
std::vector<double> read_unigram_vocabulary(const PaddedText& text, std::string_view part, Vocabulary& vocabulary) {
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text.view(part));
  std::vector<double> scores;
  for (auto entry : document.get_array()) {
    std::size_t count = 0;
    for (auto element : entry.get_array()) {
      if (count == 0) {
        const auto id = static_cast<TokenId>(scores.size());
        if (auto done = vocabulary.add(id, element.get_string()); !done) fail("model.vocab", done.error().message);
      } else if (count == 1) {
        scores.push_back(element.get_double());
      }
      ++count;
    }
    if (count != 2 || scores.size() != vocabulary.size()) {
      fail(fmt::format("model.vocab[{}]", vocabulary.size()), "must be a text and a score");
    }
  }
  return scores;
}

std::unique_ptr<Model> read_unigram(const PaddedText& text, const Members& members, Vocabulary& vocabulary) {
  std::vector<double> scores = read_unigram_vocabulary(text, required(members, "vocab", "model"), vocabulary);
  UnknownSettings settings;
  settings.byte_fallback = read_flag(members, "byte_fallback");
  const nlohmann::json unknown = member(members, "unk_id", "model.unk_id");
  if (!unknown.is_null()) {
    const std::int64_t id = JsonNode(unknown, "model.unk_id").integer();
    if (id < 0 || static_cast<std::size_t>(id) >= scores.size()) fail("model.unk_id", "is not a token id");
    settings.unknown = static_cast<TokenId>(id);
  }
  return std::make_unique<UnigramModel>(vocabulary, std::move(scores), UnknownCharacters(vocabulary, settings));
}

std::unique_ptr<Model> read_wordlevel(const PaddedText& text, const Members& members, Vocabulary& vocabulary) {
  read_listed_vocabulary(text, required(members, "vocab", "model"), vocabulary);
  // An unknown token that is no word fails where it is needed, as if there were none.
  const UnknownSettings settings{.unknown = vocabulary.find(read_text(members, "unk_token", "<unk>"))};
  return std::make_unique<WordLevelModel>(vocabulary, WordLevelModel::Words::kPiece,
                                          UnknownCharacters(vocabulary, settings));
}

std::unique_ptr<Model> read_wordpiece(const PaddedText& text, const Members& members, Vocabulary& vocabulary) {
  read_listed_vocabulary(text, required(members, "vocab", "model"), vocabulary);
  WordPieceSettings settings;
  settings.continuation_prefix = read_text(members, "continuing_subword_prefix", "##");
  const nlohmann::json most = member(members, "max_input_chars_per_word", "model.max_input_chars_per_word");
  if (!most.is_null()) {
    const std::int64_t chars = JsonNode(most, "model.max_input_chars_per_word").integer();
    if (chars < 1 || chars > 10'000) fail("model.max_input_chars_per_word", "must be in 1..10000");
    settings.max_word_chars = static_cast<std::size_t>(chars);
  }
  const std::string name = read_text(members, "unk_token", "[UNK]");
  const auto id = vocabulary.find(name);
  if (!id) fail("model.unk_token", fmt::format("\"{}\" is not in the vocabulary", name));
  settings.unknown = *id;
  return std::make_unique<WordPieceModel>(vocabulary, std::move(settings));
}

// Files of old versions leave the type of a BPE model out.
std::string model_type(const Members& members) {
  const nlohmann::json type = member(members, "type", "model.type");
  return type.is_null() ? "BPE" : JsonNode(type, "model.type").string();
}

// Whether a byte-level model can be made that takes the bytes before they are spelled.
bool takes_bytes(const Members& members, std::string_view type) {
  return type == "BPE" && read_text(members, "continuing_subword_prefix", "").empty() &&
         read_text(members, "end_of_word_suffix", "").empty() && !read_flag(members, "byte_fallback");
}

// `spells_bytes`: the pieces are to be spelled in the byte alphabet.
std::unique_ptr<Model> read_model(const PaddedText& text, std::string_view part, bool spells_bytes,
                                  TokenizerParts& parts) {
  const Members members = read_members(text, part, "model");
  const std::string type = model_type(members);
  const bool byte_level = spells_bytes && takes_bytes(members, type);
  if (spells_bytes && !byte_level) parts.pre_tokenizer.add(make_byte_spelling());
  Vocabulary& vocabulary = *parts.vocabulary;
  if (type == "BPE") return read_bpe(text, members, byte_level, vocabulary);
  if (type == "Unigram") return read_unigram(text, members, vocabulary);
  if (type == "WordPiece") return read_wordpiece(text, members, vocabulary);
  if (type == "WordLevel") return read_wordlevel(text, members, vocabulary);
  fail("model", fmt::format("type \"{}\" is not supported", type));
}

template <typename Read>
void read_section(const Members& members, const std::string& name, Read read) {
  const nlohmann::json value = member(members, name, name);
  read(JsonNode(value, name));
}

void check_ids(const TokenizerParts& parts, const std::vector<TokenId>& ids) {
  for (const TokenId id : ids) {
    if (!parts.vocabulary->contains(id)) fail("post_processor", fmt::format("id {} is not in the vocabulary", id));
  }
}

TokenizerParts read_parts(std::string_view json, std::string_view config_json) {
  const PaddedText text(json);
  const Members members = read_members(text, text.whole(), "tokenizer.json");
  TokenizerParts parts;
  bool spells_bytes = false;
  read_section(members, "normalizer", [&](const JsonNode& node) { read_normalizer(node, parts.normalizer); });
  read_section(members, "pre_tokenizer",
               [&](const JsonNode& node) { spells_bytes = read_pre_tokenizer(node, parts.pre_tokenizer); });
  read_section(members, "decoder", [&](const JsonNode& node) { read_decoder(node, parts.decode_rules); });
  if (parts.decode_rules.growth() > DecodeRules::kMaxGrowth)
    fail("decoder",
         fmt::format("its replacements may make a text more than {} times as long", DecodeRules::kMaxGrowth));
  read_section(members, "post_processor", [&](const JsonNode& node) { read_post_processor(node, parts); });
  parts.model = read_model(text, required(members, "model", "tokenizer.json"), spells_bytes, parts);
  read_section(members, "added_tokens", [&](const JsonNode& node) { read_added_tokens(node, parts); });
  check_ids(parts, parts.prefix_ids);
  check_ids(parts, parts.suffix_ids);
  if (!config_json.empty()) {
    const nlohmann::json config = parse_small_json(config_json, "tokenizer_config.json");
    read_special_ids(JsonNode(config, "tokenizer_config.json"), parts);
  }
  if (!parts.ids.bos && !parts.prefix_ids.empty()) parts.ids.bos = parts.prefix_ids.front();
  complete_end_of_generation(parts);
  return parts;
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> Tokenizer::from_tokenizer_json(std::string_view json,
                                                                        std::string_view tokenizer_config_json) {
  try {
    return std::make_unique<Tokenizer>(read_parts(json, tokenizer_config_json));
  } catch (const base::Exception& exception) {
    return exception.error();
  } catch (const simdjson::simdjson_error& error) {
    return base::bad_file(fmt::format("tokenizer.json: {}", error.what()));
  } catch (const nlohmann::json::exception& error) {
    return base::bad_file(fmt::format("tokenizer.json: {}", error.what()));
  }
}

}  // namespace vitrine::tokenizer
