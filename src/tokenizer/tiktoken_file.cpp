#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <utility>

#include "base/base64.h"
#include "tokenizer/decode_steps.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/ranked_bpe.h"
#include "tokenizer/tokenizer.h"

// A .tiktoken file holds ranked tokens alone; how text is split and which special tokens there are is published with
// the name of the encoding.
namespace vitrine::tokenizer {
namespace {

struct NamedId {
  std::string_view name;
  TokenId id = -1;
};

struct Encoding {
  std::string_view name;
  std::string_view pattern;  // of known_patterns()
  bool composes = false;     // text is brought into NFC first
  std::span<const NamedId> special_tokens;
  // Ids first..last without a meaning yet are special tokens too, "<|reserved_ID|>".
  TokenId first_reserved = 0;
  TokenId last_reserved = -1;
};

constexpr NamedId kGpt2Special[] = {{"<|endoftext|>", 50256}};
constexpr NamedId kCl100kSpecial[] = {{"<|endoftext|>", 100257},
                                      {"<|fim_prefix|>", 100258},
                                      {"<|fim_middle|>", 100259},
                                      {"<|fim_suffix|>", 100260},
                                      {"<|endofprompt|>", 100276}};
constexpr NamedId kO200kSpecial[] = {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}};
constexpr NamedId kHarmonySpecial[] = {{"<|startoftext|>", 199998}, {"<|endoftext|>", 199999}, {"<|return|>", 200002},
                                       {"<|constrain|>", 200003},   {"<|channel|>", 200005},   {"<|start|>", 200006},
                                       {"<|end|>", 200007},         {"<|message|>", 200008},   {"<|call|>", 200012},
                                       {"<|endofprompt|>", 200018}};
constexpr NamedId kQwen1Special[] = {{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}};

constexpr Encoding kEncodings[] = {
    {"gpt2", "gpt2", false, kGpt2Special},         {"r50k_base", "gpt2", false, kGpt2Special},
    {"p50k_base", "gpt2", false, kGpt2Special},    {"cl100k_base", "cl100k", false, kCl100kSpecial},
    {"o200k_base", "o200k", false, kO200kSpecial}, {"o200k_harmony", "o200k", false, kHarmonySpecial, 200000, 201087},
    {"qwen1", "qwen2", true, kQwen1Special},       {"qwen", "qwen2", true, kQwen1Special},
};

// One line: base64, a space, a decimal rank.
base::Result<void> read_line(std::string_view line, Vocabulary& vocabulary) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return base::bad_file("must be base64, a space and a rank");
  const auto bytes = base::decode_base64(line.substr(0, space));
  if (!bytes) return base::bad_file("is not base64");
  const std::string_view digits = line.substr(space + 1);
  TokenId rank = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size() || rank < 0 || rank > Vocabulary::kMaxId) {
    return base::bad_file(fmt::format("the rank is not in 0..{}", Vocabulary::kMaxId));
  }
  return add_ranked_token(vocabulary, rank, *bytes);
}

base::Result<void> read_lines(std::string_view text, Vocabulary& vocabulary) {
  constexpr std::size_t kUsualLineBytes = 16;
  vocabulary.reserve(text.size() / kUsualLineBytes, text.size() / 2);
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (auto done = read_line(line, vocabulary); !done) {
      return base::bad_file(fmt::format("line {}: {}", number, done.error().message));
    }
  }
  return vocabulary.size() > 0 ? base::Result<void>() : base::bad_file("no tokens in it");
}

base::Result<void> add_special(const Encoding& encoding, TokenizerParts& parts) {
  const auto add = [&parts](TokenId id, std::string content) {
    return add_token(parts, {.id = id, .content = std::move(content), .special = true});
  };
  for (const NamedId& token : encoding.special_tokens) {
    if (auto done = add(token.id, std::string(token.name)); !done) return done;
  }
  for (TokenId id = encoding.first_reserved; id <= encoding.last_reserved; ++id) {
    if (std::ranges::find(encoding.special_tokens, id, &NamedId::id) != encoding.special_tokens.end()) continue;
    if (auto done = add(id, fmt::format("<|reserved_{}|>", id)); !done) return done;
  }
  return {};
}

}  // namespace

std::vector<std::string_view> tiktoken_encodings() {
  std::vector<std::string_view> names;
  std::ranges::transform(kEncodings, std::back_inserter(names), &Encoding::name);
  return names;
}

base::Result<std::unique_ptr<Tokenizer>> Tokenizer::from_tiktoken(std::string_view text, std::string_view encoding) {
  const auto* const row = std::ranges::find(kEncodings, encoding, &Encoding::name);
  if (row == std::end(kEncodings)) {
    return base::bad_file(
        fmt::format("the encoding \"{}\" is not known; there are {}", encoding, fmt::join(tiktoken_encodings(), ", ")));
  }
  TokenizerParts parts;
  if (row->composes) parts.normalizer.add(make_unicode_form(UnicodeForm::kNfc));
  parts.pre_tokenizer.add(make_split(make_scan_pattern(known_pattern(row->pattern)), SplitBehavior::kIsolated, false));
  if (auto done = read_lines(text, *parts.vocabulary); !done) return std::move(done).error();
  parts.model = make_ranked_bpe(*parts.vocabulary);
  parts.decode_rules.add(make_byte_level_decoder());
  if (auto done = add_special(*row, parts); !done) return std::move(done).error();
  parts.ids.eos = parts.added_ids.at("<|endoftext|>");
  complete_end_of_generation(parts);
  return std::make_unique<Tokenizer>(std::move(parts));
}

}  // namespace vitrine::tokenizer
