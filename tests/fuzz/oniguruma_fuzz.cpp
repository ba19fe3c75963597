// Any text as a regular expression of tokenizer.json: a refusal, or matches that lie in their text, in order and none
// over another, between whole characters.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/oniguruma.h"
#include "tokenizer/pattern.h"

namespace {

using namespace vitrine;

constexpr std::string_view kTexts[] = {"a", "ab  12 \xE6\x97\xA5\xE6\x9C\xAC e\xCC\x81!\n'sAbab\n\n",
                                       "\xF0\x9F\x98\x80", "aaaa"};

void check_matches(std::string_view text, const std::vector<tokenizer::Range>& matches) {
  std::size_t pos = 0;
  for (const tokenizer::Range& match : matches) {
    VT_CHECK(pos <= match.begin && match.begin <= match.end && match.end <= text.size(), "a match out of its place");
    VT_CHECK(match.begin == text.size() || !base::is_continuation(text[match.begin]), "a match within a character");
    VT_CHECK(match.end == text.size() || !base::is_continuation(text[match.end]), "a match within a character");
    pos = match.end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view expression(reinterpret_cast<const char*>(data), size);
  if (!base::is_valid_utf8(expression)) return 0;  // JSON holds nothing else
  const auto translated = tokenizer::pcre_of_oniguruma(expression);
  if (!translated) return 0;
  const auto pattern = tokenizer::make_pcre_pattern(*translated);
  if (!pattern) return 0;
  for (const std::string_view text : kTexts) {
    std::vector<tokenizer::Range> matches;
    if ((*pattern)->find_all(text, matches)) check_matches(text, matches);
  }
  return 0;
}
