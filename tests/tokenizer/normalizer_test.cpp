#include "tokenizer/normalizer.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "base/utf8.h"
#include "support/random_seed.h"

namespace vitrine::tokenizer {
namespace {

std::string whole_text_normalized(const std::string& text, UnicodeForm form) {
  const bool composed = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  const bool compatible = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
  utf8proc_uint8_t* mapped = nullptr;
  const auto size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &mapped,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                     (compatible ? UTF8PROC_COMPAT : 0)));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size)};
}

// Clusters of characters are normalized one by one, and most are known to stay as they are.
TEST(UnicodeForm, GivesWhatTheWholeTextAtOnceGives) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::u32string characters =
      U"aeEA1 "
      U"\n\u4E2D\u9FFF\u2019\u2026\u2010\u2027\u3000\u3001\u3020\uFF01\uFF21\uFF5E\u304B\u30AB\u3099\u0301\u0323\u0327"
      U"\u00E9\u1EA5\uAC00\u1100\u1161\u11A8\u0344\u212B\uFB01\u302A\u0F71\u0F73\uF900\U0002F800";
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::size_t i = random() % 12; i > 0; --i)
      base::append_utf8(text, characters[random() % characters.size()]);
    for (const UnicodeForm form : {UnicodeForm::kNfc, UnicodeForm::kNfd, UnicodeForm::kNfkc, UnicodeForm::kNfkd}) {
      const auto normal = make_unicode_form(form)->apply(AlignedText(text, 0, true)).value_or_throw();
      ASSERT_EQ(normal.text(), whole_text_normalized(text, form)) << '"' << text << '"';
    }
  }
}

}  // namespace
}  // namespace vitrine::tokenizer
