#include "tools/token_comparison.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace vitrine::tools {
namespace {

bool is_between(char32_t code_point, char32_t first, char32_t last) {
  return code_point >= first && code_point <= last;
}

// The script of every byte of a text, that of the character it belongs to.
std::vector<Script> scripts_of_bytes(std::string_view text, TokenizedText& result) {
  std::vector<Script> scripts;
  scripts.reserve(text.size());
  while (!text.empty()) {
    const base::CodePoint code_point = base::decode_utf8(text);
    const Script script = script_of(code_point.value);
    scripts.insert(scripts.end(), code_point.length, script);
    ++result.scripts[static_cast<std::size_t>(script)].num_chars;
    ++result.num_chars;
    text.remove_prefix(code_point.length);
  }
  return scripts;
}

void share_out(const tokenizer::EncodedToken& token, const std::vector<Script>& scripts, TokenizedText& result) {
  if (scripts.empty()) return;
  const auto count = [&](std::size_t byte, double share) {
    result.scripts[static_cast<std::size_t>(scripts[byte])].num_tokens += share;
  };
  const std::size_t width = token.end - token.start;
  if (width == 0) return count(std::min(token.start, scripts.size() - 1), 1);
  for (std::size_t i = token.start; i < token.end; ++i)
    count(i, 1.0 / static_cast<double>(width));
}

}  // namespace

std::string_view script_name(Script script) {
  constexpr std::array<std::string_view, kNumScripts> kNames = {"chinese", "latin", "code", "other"};
  return kNames[static_cast<std::size_t>(script)];
}

Script script_of(char32_t code_point) {
  if (is_between(code_point, 0x3000, 0x303F) || is_between(code_point, 0x3400, 0x4DBF) ||
      is_between(code_point, 0x4E00, 0x9FFF) || is_between(code_point, 0xF900, 0xFAFF) ||
      is_between(code_point, 0xFF00, 0xFFEF) || is_between(code_point, 0x20000, 0x3FFFF)) {
    return Script::kChinese;
  }
  const bool is_latin = code_point < 0x250 || is_between(code_point, 0x1E00, 0x1EFF);
  if (is_latin && tokenizer::is_letter(code_point)) return Script::kLatin;
  return code_point < 0x80 ? Script::kCode : Script::kOther;
}

base::Result<TokenizedText> tokenize_text(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                          tokenizer::EncodeOptions options) {
  const auto tokens = tokenizer.encode_with_offsets(text, options);
  if (!tokens) return tokens.error();
  TokenizedText result;
  result.num_bytes = text.size();
  const std::vector<Script> scripts = scripts_of_bytes(text, result);
  for (const tokenizer::EncodedToken& token : *tokens) {
    share_out(token, scripts, result);
    const bool was_put_in = token.start == token.end;
    result.pieces.push_back(was_put_in ? tokenizer.token_bytes(token.id)
                                       : std::string(text.substr(token.start, token.end - token.start)));
  }
  return result;
}

}  // namespace vitrine::tools
