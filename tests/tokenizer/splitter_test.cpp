#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/oniguruma.h"
#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {
namespace {

// Characters near which the patterns decide, and any others that the Unicode version of PCRE2 knows too.
class TextMaker {
 public:
  explicit TextMaker(std::uint32_t seed) : random_(seed) {}

  std::string text(std::size_t max_length) {
    std::string result;
    const std::size_t length = pick(max_length);
    for (std::size_t i = 0; i < length; ++i)
      base::append_utf8(result, pick(4) == 0 ? any() : telling());
    return result;
  }

 private:
  std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  char32_t telling() {
    static const std::u32string characters =
        U"''''sStTmMdDlLrReEvVaZ09 \t\n\r\u00A0\u3000\u0085\u017F\u212A.,!/-_@#$+<|~\u00B2\u0661\u0301\u0903\u20DD"
        U"\u00E9\u00C9\u01C5\u02B0\u4E2D\u65E5\u3042\u30AB\u30FB\uD55C\u0E01\u0E31\U0001F600\u200D\u200B\u2581\u00AD";
    return characters[pick(characters.size())];
  }

  char32_t any() {
    for (;;) {
      const auto code_point = static_cast<char32_t>(pick(0x20000));
      const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
      // PCRE2 counts U+180E as white space, as old versions of Unicode did.
      if (surrogate || code_point == 0x180E) continue;
      std::string text;
      base::append_utf8(text, code_point);
      std::vector<Range> matches;
      EXPECT_TRUE(assigned_->find_all(text, matches));
      if (!matches.empty()) return code_point;
    }
  }

  std::mt19937 random_;
  std::unique_ptr<Pattern> assigned_ = make_pcre_pattern("\\P{Cn}").value_or_throw();
};

class Splitter : public ::testing::TestWithParam<KnownPattern> {};

TEST_P(Splitter, FindsWhatPcreFindsInRandomText) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  TextMaker maker(seed);
  const auto reference = make_pcre_pattern(GetParam().expression).value_or_throw();
  const auto expect_the_same = [&](std::size_t max_length, std::size_t at_once) {
    std::string text;
    for (std::size_t i = 0; i < at_once; ++i)  // runs of ASCII and of other characters, longer than a scanner's steps
      text += i % 2 == 0 ? maker.text(max_length) : std::string(i % 70, i % 3 == 0 ? ' ' : 'x');
    std::vector<Range> expected, found;
    ASSERT_TRUE(reference->find_all(text, expected));
    GetParam().scan(text, found);
    ASSERT_EQ(found, expected) << '"' << text << '"';
  };
  for (int i = 0; i < 5000 && !HasFatalFailure(); ++i)
    expect_the_same(24, 1);
  for (int i = 0; i < 100 && !HasFatalFailure(); ++i)
    expect_the_same(80, 20);
}

TEST_P(Splitter, IsChosenByItsExpression) {
  const std::string long_text(1 << 20, 'A');
  std::vector<Range> found, scanned;
  ASSERT_TRUE(make_regex_pattern(GetParam().expression).value_or_throw()->find_all(long_text, found));
  GetParam().scan(long_text, scanned);
  EXPECT_EQ(found, scanned);
}

TEST_P(Splitter, TakesLinearTimeOnRuns) {
  for (const std::string unit : {"A", ".", " ", "\n", "\xE6\x97\xA5", "1", "\xCC\x81", "a'", " \n",
                                 "\xC2\xAA"
                                 "A"}) {
    std::string text;
    while (text.size() < (1 << 20))
      text += unit;
    std::vector<Range> found;
    const std::clock_t start = std::clock();  // of this process: others may keep it waiting
    GetParam().scan(text, found);
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 2) << unit;
  }
}

INSTANTIATE_TEST_SUITE_P(Known, Splitter, ::testing::ValuesIn(known_patterns().begin(), known_patterns().end()),
                         [](const auto& row) {
                           std::string name(row.param.name);
                           std::erase(name, '.');
                           return name;
                         });

TEST(PcrePattern, ReportsARunawayPattern) {
  const auto pattern = make_regex_pattern("(a+)+$").value_or_throw();
  std::vector<Range> matches;
  const auto done = pattern->find_all(std::string(100, 'a') + "b", matches);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, base::ErrorKind::kUsage);
}

TEST(PcrePattern, RefusesWhatDoesNotCompile) {
  EXPECT_FALSE(make_regex_pattern("("));
}

TEST(PcrePattern, FindsEmptyMatchesThatStandAlone) {
  std::vector<Range> matches;
  ASSERT_TRUE(make_regex_pattern("x*").value_or_throw()->find_all("axxb", matches));
  EXPECT_EQ(matches, (std::vector<Range>{{0, 0}, {1, 3}, {4, 4}}));
}

// Called from a look-around, \K may begin a match over its end, or before the last one's.
TEST(PcrePattern, FindsInOrderWhateverMovesTheBeginning) {
  const auto matches_in_aab = [](std::string_view expression) {
    std::vector<Range> matches;
    EXPECT_TRUE(make_pcre_pattern(expression).value_or_throw()->find_all("aab", matches));
    return matches;
  };
  EXPECT_EQ(matches_in_aab(R"((\Ka){0}(?<=(?1)))"), (std::vector<Range>{{0, 1}, {2, 2}}));
  EXPECT_EQ(matches_in_aab(R"((a\K){0}(?=(?1)))"), (std::vector<Range>{{1, 1}, {2, 2}}));
  EXPECT_EQ(matches_in_aab(R"(a\K)"), (std::vector<Range>{{1, 1}, {2, 2}}));
}

TEST(LiteralPattern, FindsWithoutOverlap) {
  std::vector<Range> matches;
  ASSERT_TRUE(make_literal_pattern("aa")->find_all("aaaaa", matches));
  EXPECT_EQ(matches, (std::vector<Range>{{0, 2}, {2, 4}}));
}

std::string pcre_of(std::string_view expression) {
  auto result = pcre_of_oniguruma(expression);
  return result ? std::move(result).value() : result.error().message;
}

TEST(Oniguruma, MostExpressionsStayAsTheyAre) {
  for (const KnownPattern& known : known_patterns()) {
    if (known.expression.find("}+") == std::string_view::npos) {
      EXPECT_EQ(pcre_of(known.expression), known.expression) << known.name;
    }
  }
  EXPECT_EQ(pcre_of(R"(\[a{b[[:alpha:]\]-]\p{Han}++|(?i:x)(?=y)\x{3000})"),
            R"(\[a{b[[:alpha:]\]-]\p{Han}++|(?i:x)(?=y)\x{3000})");
}

TEST(Oniguruma, ClassesWithinClassesAreUnionsAndIntersections) {
  EXPECT_EQ(pcre_of("[a[bc]d]"), "[abcd]");
  EXPECT_EQ(pcre_of("[^a[bc]]"), "[^abc]");
  EXPECT_EQ(pcre_of("[[^a]]"), "[^a]");
  EXPECT_EQ(pcre_of(R"([\p{L}&&[^\p{Han}]]+)"), R"((?:(?=[\p{L}])[^\p{Han}])+)");
  EXPECT_EQ(pcre_of("[^a-f&&e-k]"), "(?:(?!(?=[a-f])[e-k])(?s:.))");
}

TEST(Oniguruma, WhatItSpellsOtherwiseIsTranslated) {
  EXPECT_EQ(pcre_of(R"(\p{N}{1,3}+x)"), R"((?:\p{N}{1,3})+x)");
  EXPECT_EQ(pcre_of("(a|b){2}+"), "(?:(a|b){2})+");
  EXPECT_EQ(pcre_of("x{,2}"), "x{0,2}");
  EXPECT_EQ(pcre_of(R"(\h[\hg]\H)"), "[0-9A-Fa-f][0-9A-Fa-fg][^0-9A-Fa-f]");
  EXPECT_EQ(pcre_of("(?im:.)(?m).(?i)"), "(?is:.)(?s).(?i)");
  EXPECT_EQ(pcre_of(R"(\u3000)"), R"(\x{3000})");
}

TEST(Oniguruma, RefusesWhatHasNoCounterpart) {
  for (const char* broken : {"[a", "[a[^b]]", "[[^b]a]", "[[a&&b]c]", "[a&&]", R"([\H])", "[[:"}) {
    EXPECT_FALSE(pcre_of_oniguruma(broken)) << broken;
  }
  EXPECT_FALSE(pcre_of_oniguruma(std::string(1000, '[')));
  EXPECT_FALSE(pcre_of_oniguruma(std::string(1 << 20, 'x')));
}

}  // namespace
}  // namespace vitrine::tokenizer
