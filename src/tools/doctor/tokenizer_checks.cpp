#include "tools/doctor/tokenizer_checks.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/sha256.h"

namespace vitrine::doctor {
namespace {

void feed(base::Sha256& sha, std::string_view text) {
  sha.update(std::as_bytes(std::span(text.data(), text.size())));
}

// Of 391 texts in many scripts, those on which llama.cpp gives other ids than the reference tokenizer.
struct KnownDifference {
  std::string_view family;
  std::string_view texts;  // empty: none of them
};

constexpr std::string_view kMarks = "11 to 18 of 391 texts: Thai, Indic and Arabic, where a mark follows a letter";

constexpr KnownDifference kByPre[] = {
    {"smollm", ""},
    {"llama-bpe", ""},
    {"gpt-2", ""},
    {"deepseek-v3", ""},
    {"qwen2", "20 to 24 of 391 texts: letters and marks that are not composed (NFD), Hangul jamo, some special tokens"},
    {"gpt-4o", kMarks},
    {"tekken", kMarks},
};
constexpr KnownDifference kGemma = {"gemma", "3 of 391 texts: runs of spaces or of U+2581 that no token covers"};
constexpr KnownDifference kLlama = {"llama", "8 of 391 texts: those with special tokens written in them"};

const KnownDifference* find_difference(std::string_view architecture, std::string_view model, std::string_view pre) {
  if (model == "llama") return architecture.starts_with("gemma") ? &kGemma : &kLlama;
  if (model != "gpt2") return nullptr;
  const auto* const found = std::ranges::find(kByPre, pre, &KnownDifference::family);
  return found == std::end(kByPre) ? nullptr : found;
}

}  // namespace

std::string tokenizer_fingerprint(const tokenizer::Tokenizer& tokenizer) {
  constexpr std::size_t kDigits = 16;
  base::Sha256 sha;
  feed(sha, tokenizer.kind());
  for (std::size_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string_view piece = tokenizer.piece(id);
    feed(sha, fmt::format("\n{} {} ", piece.size(), tokenizer.is_special(id) ? 1 : 0));
    feed(sha, piece);
  }
  return base::hex_of(sha.finish()).substr(0, kDigits);
}

Check check_tokenizer(const tokenizer::Tokenizer& tokenizer) {
  constexpr std::array<std::string_view, 4> kTexts = {
      "The quick brown fox, 12345 times.\n", "def f(x):\n    return x * 2\n",
      "\xE4\xBD\xA0\xE5\xA5\xBD, caf\xC3\xA9, \xF0\x9F\x99\x82", "a  b\tc"};
  const std::string facts = fmt::format("{}, {} tokens, fingerprint {}", tokenizer.kind(), tokenizer.vocab_size(),
                                        tokenizer_fingerprint(tokenizer));
  for (const std::string_view text : kTexts) {
    const auto ids = tokenizer.encode(text, {.parse_special = false, .add_special = false});
    if (!ids) return fail("tokenizer", ids.error());
    if (tokenizer.decode(*ids) != text) {
      return warn("tokenizer", facts + "; a text does not come back from its ids as it was",
                  "none is needed where the model normalises text (WordPiece, Unigram); else fetch the model again");
    }
  }
  return ok("tokenizer", facts);
}

Check check_llama_cpp(std::string_view architecture, std::string_view model, std::string_view pre) {
  const std::string name = pre.empty() ? std::string(model) : fmt::format("{} ({})", model, pre);
  const KnownDifference* known = find_difference(architecture, model, pre);
  if (known == nullptr) return ok("llama_cpp", name + ": not compared with the reference");
  if (known->texts.empty()) return ok("llama_cpp", name + ": llama.cpp gives the reference's ids for all of 391 texts");
  return warn("llama_cpp", fmt::format("{}: llama.cpp gives other ids than the reference for {}", name, known->texts),
              "none is needed here, the ids are the reference's; do not mix ids of both programs");
}

}  // namespace vitrine::doctor
