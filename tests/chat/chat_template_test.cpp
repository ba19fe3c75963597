#include "chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "chat/json_text.h"
#include "support/reference_data.h"

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

// The rendered text, or "error: ..." .
std::string render(std::string_view source, const Json& variables) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return "error: " + compiled.error().message;
  RenderRequest request;
  request.variables = variables;
  if (request.variables.contains("messages")) request.messages = request.variables["messages"];
  request.now = *LocalTime::parse("2025-03-14T15:09:26");
  const auto text = compiled->render(request);
  return text ? *text : "error: " + text.error().message;
}

TEST(ChatTemplate, Bug032FiltersOnNoneBehaveAsInPython) {
  EXPECT_EQ(render("{{ n | string }}|{{ n | tojson }}|{{ n | default(\"d\") }}|{{ n | default(\"d\", true) }}|"
                   "{{ n is none }}|{{ n or \"x\" }}",
                   {{"n", nullptr}}),
            "None|null|None|d|True|x");
}

TEST(ChatTemplate, Bug034AnAttributeOfUndefinedIsAnError) {
  EXPECT_THAT(
      render("{% if tools is defined and tools %}T{% else %}-{% endif %}{{ messages[0].name | default('anon') }}"
             "{% if messages[0].x.y %}!{% endif %}",
             {{"messages", Json::array({{{"role", "user"}}})}}),
      HasSubstr("error: chat template: line 1: "));
}

TEST(ChatTemplate, Bug036BrokenArgumentsOfAStoredToolCallStillRender) {
  EXPECT_EQ(render("{% for t in m.tool_calls %}{{ t.function.arguments if t.function.arguments is string else "
                   "t.function.arguments | tojson }}{% endfor %}",
                   {{"m", {{"tool_calls", Json::array({{{"function", {{"name", "f"}, {"arguments", "{"}}}}})}}}}),
            "{");
}

TEST(ChatTemplate, AnErrorNamesTheLine) {
  EXPECT_EQ(render("a\n{{ raise_exception('no system role') }}", Json::object()),
            "error: chat template: line 2: no system role");
  EXPECT_THAT(render("\n\n{% if %}", Json::object()), HasSubstr("line 3"));
}

TEST(ChatTemplate, KeysKeepTheirOrder) {
  EXPECT_EQ(render("{{ o | tojson }} {{ o }}", {{"o", {{"z", 1}, {"a", {{"c", true}, {"b", nullptr}}}}}}),
            R"({"z": 1, "a": {"c": true, "b": null}} {'z': 1, 'a': {'c': True, 'b': None}})");
}

TEST(ChatTemplate, GenerationTagsPassThroughInEveryWhitespaceForm) {
  EXPECT_EQ(render("a {%- generation -%} b {%- endgeneration -%} c", Json::object()), "abc");
  EXPECT_EQ(render("a\n{% generation %}\nb\n  {%endgeneration%}\nc\n", Json::object()), "a\nb\nc");
}

TEST(ChatTemplate, StrftimeNowPrintsTheGivenTime) {
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y, %A %H:%M') }}", Json::object()), "14 Mar 2025, Friday 15:09");
}

TEST(ChatTemplate, ContinuingTheFinalMessageEndsInsideIt) {
  const auto compiled = ChatTemplate::compile(
      "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</{{ m.role }}>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  ASSERT_TRUE(compiled);
  RenderRequest request;
  request.messages = Json::array({{{"role", "user"}, {"content", "go"}}, {{"role", "assistant"}, {"content", " go "}}});
  request.continue_final_message = true;
  EXPECT_EQ(*compiled->render(request), "<user>go</user><assistant>go");
  request.add_generation_prompt = true;
  EXPECT_FALSE(compiled->render(request));
}

TEST(ChatTemplate, MalformedRequestsAreRefused) {
  const auto compiled = ChatTemplate::compile("x");
  ASSERT_TRUE(compiled);
  RenderRequest request;
  request.variables = Json::array();
  EXPECT_EQ(compiled->render(request).error().kind, base::ErrorKind::kUsage);
  request.variables = {{"bad", "\xff"}};
  EXPECT_EQ(compiled->render(request).error().kind, base::ErrorKind::kUsage);
  Json deep = 1;
  for (int level = 0; level < 100; ++level)
    deep = Json::array({std::move(deep)});
  request.variables = {{"deep", std::move(deep)}};
  EXPECT_EQ(compiled->render(request).error().kind, base::ErrorKind::kUsage);
}

TEST(ChatTemplate, OneTemplateRendersInManyThreads) {
  const auto compiled = ChatTemplate::compile("{% for i in range(n) %}{{ i }},{% endfor %}");
  ASSERT_TRUE(compiled);
  std::vector<std::jthread> threads;
  for (int num = 1; num <= 4; ++num) {
    threads.emplace_back([&compiled, num] {
      RenderRequest request;
      request.variables = {{"n", num}};
      for (int round = 0; round < 50; ++round) {
        const auto text = compiled->render(request);
        ASSERT_TRUE(text);
        ASSERT_EQ(text->size(), static_cast<std::size_t>(2 * num));
      }
    });
  }
}

TEST(LocalTime, ParsesIsoTimesAndRefusesTheRest) {
  EXPECT_EQ(LocalTime::parse("2025-03-14T15:09:26")->minute, 9);
  EXPECT_EQ(LocalTime::parse("2025-03-14")->hour, 0);
  for (const char* text : {"", "2025", "2025-13-14", "2025-03-14T25:00:00", "2025-03-14X15:09:26", "+025-03-14"}) {
    EXPECT_FALSE(LocalTime::parse(text)) << text;
  }
}

}  // namespace
}  // namespace vitrine::chat
