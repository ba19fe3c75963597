// Templates come with model files: whatever one does, it must end within a second in an error that says where and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "chat/chat_template.h"

namespace vitrine::chat {
namespace {

using base::ErrorKind;
using Clock = std::chrono::steady_clock;

std::string repeated(std::string_view text, int times) {
  std::string whole;
  for (int time = 0; time < times; ++time)
    whole += text;
  return whole;
}

// What becomes of a template over one message: the text, or the error of compiling or rendering.
base::Result<std::string> render(std::string_view source) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return compiled.error();
  RenderRequest request;
  request.messages.push_back({{"role", "user"}, {"content", "hi"}});
  return compiled->render(request);
}

// Expects an error of this kind and text within a second.
void expect_error(std::string_view source, ErrorKind kind, std::string_view message) {
  const Clock::time_point start = Clock::now();
  const auto text = render(source);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  const std::string_view shown = source.substr(0, 100);
  ASSERT_FALSE(text) << shown;
  EXPECT_EQ(text.error().kind, kind) << shown << ": " << text.error().message;
  EXPECT_EQ(text.error().message, fmt::format("chat template: {}", message)) << shown;
  EXPECT_LT(took.count(), 1000) << shown;
}

void expect_limit(std::string_view source, std::string_view message) {
  expect_error(source, ErrorKind::kBadFile, message);
}

TEST(HostileTemplate, EndlessLoopsRunOutOfSteps) {
  expect_limit("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
               "line 1: rendering takes more than 1000000 steps");
  expect_limit(
      "{% macro twice(n) %}{% if n %}{{ twice(n - 1) }}{{ twice(n - 1) }}{% endif %}{% endmacro %}\n{{ twice(50) }}",
      "line 1: rendering takes more than 1000000 steps");
  expect_error("\n{% for i in range(10**9) %}{% endfor %}", ErrorKind::kUsage, "line 2: range has too many elements");
}

TEST(HostileTemplate, RecursionEndsAtItsLimit) {
  expect_limit("{% macro x() %}{{ x() }}{% endmacro %}\n{{ x() }}", "line 1: recursion limit exceeded");
  expect_limit("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
               "line 1: recursion limit exceeded");
  expect_limit("{% block a %}{{ self.a() }}{% endblock %}", "line 1: recursion limit exceeded");
}

TEST(HostileTemplate, SixtyFourMacrosMayBeInsideEachOther) {
  const std::string_view nested = "{% macro inner(n) %}{{ inner(n - 1) if n else 'end' }}{% endmacro %}";
  EXPECT_EQ(*render(fmt::format("{}{{{{ inner(63) }}}}", nested)), "end");
  expect_limit(fmt::format("{}{{{{ inner(64) }}}}", nested), "line 1: recursion limit exceeded");
}

TEST(HostileTemplate, DeepSourcesAreRefused) {
  const std::string_view too_deep = "line 1: template exceeds maximum recursion limits";
  expect_limit("{{ " + repeated("(", 1500) + "1" + repeated(")", 1500) + " }}", too_deep);
  expect_limit("{{ " + repeated("[", 1500) + "1" + repeated("]", 1500) + " }}", too_deep);
  expect_limit(repeated("{% if x %}", 5000) + repeated("{% endif %}", 5000), too_deep);
  expect_limit(repeated("{% macro a() %}", 5000), too_deep);
  expect_limit("{{ " + repeated("(", 60000), "line 1: a tag has more than 4000 words and signs");
  expect_limit("{% if x %}" + repeated("{% elif x %}", 2000) + "{% endif %}",
               "the template has more than 1000 elif tags");
}

TEST(HostileTemplate, LongExpressionsWithinTheLimitAreCompiled) {
  EXPECT_EQ(*render("{{ " + repeated("not ", 3000) + "true }}"), "True");
  EXPECT_EQ(*render("{{ " + repeated("1+", 1900) + "1 }}"), "1901");
  EXPECT_EQ(*render("{% if x %}" + repeated("{% elif x %}", 999) + "{% else %}last{% endif %}"), "last");
}

TEST(HostileTemplate, HugeOutputsAreCutOff) {
  expect_limit("{% for i in range(90000) %}" + repeated("x", 100) + "{% endfor %}",
               "the rendered text is over 4194304 bytes");
  expect_limit("{{ 'x' * 1000000000 }}", "line 1: rendering takes more than 1000000 steps");
  expect_limit(
      "{% set ns = namespace(s='ab') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
      "line 1: a text is too long");
  expect_error("{{ 'x'.center(1000000000) }}", ErrorKind::kUsage, "line 1: center: width is over 10000");
  expect_limit("{{ '%1000000000d'|format(1) }}", "line 1: rendering takes more than 1000000 steps");
  expect_limit(repeated("x", (1 << 20) + 1), "the template has 1048577 bytes, the limit is 1048576");
}

TEST(HostileTemplate, BadSyntaxNamesItsLine) {
  expect_limit("ok\n{% for m in messages %}\n{{ m.role",
               "line 3: unexpected end of input, expected end of variable block");
  expect_limit("\n\n{% if %}", "line 3: unexpected end of block");
  expect_limit("\n{% endfor %}", "line 2: unknown statement endfor");
  expect_limit("\n{# never ends", "line 2: unexpected end of comment");
  expect_limit("{% break %}", "line 1: 'break' must be placed inside a loop");
  expect_limit("{{ 0xffffffffffffffffffffffffffffffffffffffff }}", "line 1: invalid integer (too large)");
  expect_limit("a\xff", "the template is not UTF-8 at byte 1");
}

TEST(HostileTemplate, UnknownNamesAreNamed) {
  expect_error("\n{{ messages | no_such_filter }}", ErrorKind::kUsage, "line 2: filter no_such_filter is unknown");
  expect_error("\n{{ no_such_function() }}", ErrorKind::kUsage, "line 2: no_such_function is unknown");
  expect_error("{{ 1 is no_such_test }}", ErrorKind::kUsage, "line 1: test no_such_test is unknown");
  expect_error("{{ messages[0].role.no_such_method() }}", ErrorKind::kUsage,
               "line 1: string has no method named no_such_method");
}

TEST(HostileTemplate, MissingFieldsAreNamed) {
  expect_error("\n{{ messages[5].role }}", ErrorKind::kUsage, "line 2: undefined value");
  expect_error("{{ messages[0]['name'].upper() }}", ErrorKind::kUsage, "line 1: undefined has no method named upper");
  EXPECT_EQ(*render("{{ messages[0].name }}|{{ messages[0].name|default('anon') }}"), "|anon");
}

TEST(HostileTemplate, ARaisedExceptionKeepsItsTextOnOneLine) {
  expect_error("a\n\n{{ raise_exception('Only user and\\nassistant') }}", ErrorKind::kUsage,
               "line 3: Only user and assistant");
}

TEST(HostileTemplate, NothingOutsideTheTemplateIsInReach) {
  expect_error("{{ ''.__class__.__mro__[1].__subclasses__() }}", ErrorKind::kUsage, "line 1: undefined value");
  expect_error("{{ '{0.__class__}'.format(1) }}", ErrorKind::kUsage,
               "line 1: argument not found for format field at offset 0");
  expect_error("{% include '/etc/passwd' %}", ErrorKind::kUsage,
               "line 1: tried to include non-existing template '/etc/passwd'");
  expect_error("{% import '/etc/passwd' as p %}", ErrorKind::kUsage,
               "line 1: tried to include non-existing template '/etc/passwd'");
  expect_error("{{ debug() }}", ErrorKind::kUsage, "line 1: debug is unknown");
  expect_error("{{ messages.append(1) }}", ErrorKind::kUsage, "line 1: sequence has no method named append");
}

TEST(HostileTemplate, ArithmeticAtTheEdgesIsAnErrorOrANumber) {
  expect_error("{{ 1 // 0 }}", ErrorKind::kUsage, "line 1: unable to calculate 1 // 0");
  expect_error("{{ 2 ** 100000 }}", ErrorKind::kUsage, "line 1: unable to calculate 2 ** 100000");
  expect_error("{{ [1, 2][::0] }}", ErrorKind::kUsage, "line 1: cannot slice by step size of 0");
  EXPECT_EQ(*render("{{ 'abc'[::-9223372036854775808] }}{{ (-9223372036854775807 - 1) // -1 }}"),
            "c9223372036854775808");
}

TEST(HostileTemplate, ADryRunFindsLimitsAndForgivesRefusals) {
  EXPECT_EQ(ChatTemplate::compile("{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}")->dry_run().error().kind,
            ErrorKind::kBadFile);
  EXPECT_TRUE(ChatTemplate::compile("{{ raise_exception('needs a system message') }}")->dry_run());
}

}  // namespace
}  // namespace vitrine::chat
