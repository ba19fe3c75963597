#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace vitrine::tokenizer {

// A regular expression of tokenizer.json, which Oniguruma reads by Ruby's rules, in the syntax of PCRE2 (with
// PCRE2_MULTILINE, as ^ and $ match at every line there). The two differ in classes within classes ([a[bc]],
// [\p{L}&&[^\p{Han}]]), in \h, in (?m), in {,n}, and in that {m,n}+ repeats there and is possessive here. An expression
// without these stays as it is. Fails with kBadFile where there is no such expression.
base::Result<std::string> pcre_of_oniguruma(std::string_view expression);

}  // namespace vitrine::tokenizer
