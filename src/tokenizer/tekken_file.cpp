#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <string>
#include <utility>

#include "base/base64.h"
#include "tokenizer/decode_steps.h"
#include "tokenizer/ranked_bpe.h"
#include "tokenizer/tokenizer.h"

// tekken.json (mistral-common, tokens/tokenizers/tekken.py): a pattern, tokens as base64 in the order of their ranks,
// and since version 7 the special tokens. Special tokens have the ids below those of the ranks.
namespace vitrine::tokenizer {
namespace {

namespace ondemand = simdjson::ondemand;

// The special tokens of files that do not list them.
constexpr std::array<std::string_view, 20> kOldSpecialTokens = {"<unk>",
                                                                "<s>",
                                                                "</s>",
                                                                "[INST]",
                                                                "[/INST]",
                                                                "[AVAILABLE_TOOLS]",
                                                                "[/AVAILABLE_TOOLS]",
                                                                "[TOOL_RESULTS]",
                                                                "[/TOOL_RESULTS]",
                                                                "[TOOL_CALLS]",
                                                                "[IMG]",
                                                                "<pad>",
                                                                "[IMG_BREAK]",
                                                                "[IMG_END]",
                                                                "[PREFIX]",
                                                                "[MIDDLE]",
                                                                "[SUFFIX]",
                                                                "[SYSTEM_PROMPT]",
                                                                "[/SYSTEM_PROMPT]",
                                                                "[TOOL_CONTENT]"};

// Each has a name of its own, whether the file lists it or not; published files have 1,000.
constexpr TokenId kMaxSpecial = 1 << 16;

[[noreturn]] void fail_tekken(std::string_view path, std::string_view reason) {
  throw base::Exception(base::ErrorKind::kBadFile, fmt::format("{}: {}", path, reason));
}

struct TekkenConfig {
  std::string pattern;
  TokenId vocab_size = 0;  // special tokens included; the file may hold more ranks than that
  TokenId num_special = 0;

  TokenId num_ranks() const { return vocab_size - num_special; }
};

TokenId read_size(ondemand::object& config, std::string_view name) {
  const std::int64_t size = config[name].get_int64();
  if (size < 0 || size > Vocabulary::kMaxId) {
    fail_tekken(fmt::format("config.{}", name), fmt::format("{} is not in 0..{}", size, Vocabulary::kMaxId));
  }
  return static_cast<TokenId>(size);
}

TekkenConfig read_config(ondemand::document& document) {
  ondemand::object object = document["config"].get_object();
  TekkenConfig config;
  config.pattern = std::string_view(object["pattern"].get_string());
  config.vocab_size = read_size(object, "default_vocab_size");
  config.num_special = read_size(object, "default_num_special_tokens");
  if (config.num_special > kMaxSpecial) {
    fail_tekken("config.default_num_special_tokens", fmt::format("is more than {}", kMaxSpecial));
  }
  if (config.num_ranks() <= 0) fail_tekken("config.default_vocab_size", "leaves no room beside the special tokens");
  return config;
}

void read_ranks(ondemand::document& document, const TekkenConfig& config, Vocabulary& vocabulary) {
  std::int64_t rank = 0;
  for (auto entry : document["vocab"].get_array()) {
    ondemand::value value =
        entry.value();  // throws where the JSON is broken, which a document must not be rewound after
    if (rank == config.num_ranks()) return;
    const std::string path = fmt::format("vocab[{}]", rank);
    ondemand::object token = value.get_object();
    if (std::int64_t(token["rank"].get_int64()) != rank) fail_tekken(path, "ranks must rise by one");
    const auto bytes = base::decode_base64(token["token_bytes"].get_string());
    if (!bytes) fail_tekken(path + ".token_bytes", "is not base64");
    const auto id = static_cast<TokenId>(config.num_special + rank);
    if (auto done = add_ranked_token(vocabulary, id, *bytes); !done) fail_tekken(path, done.error().message);
    ++rank;
  }
  if (rank < config.num_ranks()) {
    fail_tekken("vocab", fmt::format("has {} tokens, config asks for {}", rank, config.num_ranks()));
  }
}

// The names of the special tokens by id, as far as they have one.
std::vector<std::string> read_special_names(ondemand::document& document) {
  std::vector<std::string> names;
  ondemand::array list;
  const auto error = document["special_tokens"].get_array().get(list);
  if (error == simdjson::NO_SUCH_FIELD || error == simdjson::INCORRECT_TYPE) {
    names.assign(kOldSpecialTokens.begin(), kOldSpecialTokens.end());
    return names;
  }
  if (error != simdjson::SUCCESS) throw simdjson::simdjson_error(error);
  for (auto entry : list) {
    ondemand::object token = entry.get_object();
    if (std::int64_t(token["rank"].get_int64()) != static_cast<std::int64_t>(names.size())) {
      fail_tekken(fmt::format("special_tokens[{}]", names.size()), "ranks must rise by one");
    }
    names.emplace_back(std::string_view(token["token_str"].get_string()));
  }
  return names;
}

void add_special_names(const std::vector<std::string>& names, const TekkenConfig& config, TokenizerParts& parts) {
  for (TokenId id = 0; id < config.num_special; ++id) {
    const auto index = static_cast<std::size_t>(id);
    const std::string name = index < names.size() ? names[index] : fmt::format("<SPECIAL_{}>", id);
    if (auto done = add_token(parts, {.id = id, .content = name, .special = true}); !done) {
      fail_tekken(fmt::format("special_tokens[{}]", id), done.error().message);
    }
  }
}

std::optional<TokenId> id_of(const TokenizerParts& parts, const char* name) {
  const auto found = parts.added_ids.find(name);
  return found == parts.added_ids.end() ? std::nullopt : std::optional(found->second);
}

TokenizerParts read_tekken(std::string_view json) {
  const simdjson::padded_string text(json);
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text);
  const TekkenConfig config = read_config(document);
  TokenizerParts parts;
  auto pattern = make_regex_pattern(config.pattern);
  if (!pattern) fail_tekken("config.pattern", pattern.error().message);
  parts.pre_tokenizer.add(make_split(std::move(pattern).value(), SplitBehavior::kIsolated, false));
  read_ranks(document, config, *parts.vocabulary);
  parts.model = make_ranked_bpe(*parts.vocabulary);
  parts.decode_rules.add(make_byte_level_decoder());
  document.rewind();
  add_special_names(read_special_names(document), config, parts);
  parts.ids = {.bos = id_of(parts, "<s>"),
               .eos = id_of(parts, "</s>"),
               .unk = id_of(parts, "<unk>"),
               .pad = id_of(parts, "<pad>"),
               .end_of_generation = {}};
  if (parts.ids.bos) parts.prefix_ids = {*parts.ids.bos};
  complete_end_of_generation(parts);
  return parts;
}

}  // namespace

bool is_tekken_json(std::string_view json) {
  const simdjson::padded_string text(json);
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(text).get(document) != simdjson::SUCCESS) return false;
  return document["config"]["pattern"].error() == simdjson::SUCCESS;
}

base::Result<std::unique_ptr<Tokenizer>> Tokenizer::from_tekken(std::string_view json) {
  try {
    return std::make_unique<Tokenizer>(read_tekken(json));
  } catch (const base::Exception& exception) {
    return exception.error();
  } catch (const simdjson::simdjson_error& error) {
    return base::bad_file(fmt::format("tekken: {}", error.what()));
  }
}

}  // namespace vitrine::tokenizer
