// The splitter patterns of published tokenizers: the scanner written for each finds in any text what PCRE2 finds by the
// expression. The first byte selects the pattern.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/oniguruma.h"
#include "tokenizer/pattern.h"

namespace {

using namespace vitrine;
using namespace vitrine::tokenizer;

std::vector<std::unique_ptr<Pattern>> make_references() {
  std::vector<std::unique_ptr<Pattern>> references;
  for (const KnownPattern& known : known_patterns())
    references.push_back(make_pcre_pattern(known.expression).value_or_throw());
  return references;
}

// Two versions of Unicode differ in characters that one does not have; and in U+180E, which was white space once.
bool is_same_in_all_unicode(std::string_view text) {
  static const std::unique_ptr<Pattern> unassigned = make_pcre_pattern("[\\p{Cn}\\x{180E}]").value_or_throw();
  std::vector<Range> matches;
  return unassigned->find_all(text, matches) && matches.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::unique_ptr<Pattern>> references = make_references();
  if (size == 0) return 0;
  const std::size_t idx = data[0] % references.size();
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (!base::is_valid_utf8(text) || !is_same_in_all_unicode(text)) return 0;
  std::vector<Range> found, expected;
  known_patterns()[idx].scan(text, found);
  if (references[idx]->find_all(text, expected)) VT_CHECK(found == expected, "other matches than PCRE2's");
  return 0;
}
