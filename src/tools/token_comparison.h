#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::tools {

// The kinds of characters that are counted apart.
enum class Script {
  kChinese,  // Han characters, and the punctuation and full-width forms that go with them
  kLatin,    // letters of the Latin script
  kCode,     // all else of ASCII: digits, punctuation, white space
  kOther,
};
inline constexpr std::size_t kNumScripts = 4;
inline constexpr std::array<Script, kNumScripts> kScripts = {Script::kChinese, Script::kLatin, Script::kCode,
                                                             Script::kOther};

std::string_view script_name(Script script);  // "chinese" ...
Script script_of(char32_t code_point);

// The characters of one script in a text, and the tokens that they take. A token of several scripts counts for each by
// the share of its bytes.
struct ScriptCount {
  std::size_t num_chars = 0;
  double num_tokens = 0;

  double chars_per_token() const { return num_tokens > 0 ? static_cast<double>(num_chars) / num_tokens : 0; }
};

// A text as one tokenizer sees it.
struct TokenizedText {
  std::size_t num_bytes = 0;
  std::size_t num_chars = 0;        // code points
  std::vector<std::string> pieces;  // what each token covers; not UTF-8 where it is a part of a character
  std::array<ScriptCount, kNumScripts> scripts{};  // by Script

  std::size_t num_tokens() const { return pieces.size(); }
  double bytes_per_token() const {
    return pieces.empty() ? 0 : static_cast<double>(num_bytes) / static_cast<double>(pieces.size());
  }
};

// Fails as Tokenizer::encode does.
base::Result<TokenizedText> tokenize_text(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                          tokenizer::EncodeOptions options);

}  // namespace vitrine::tools
