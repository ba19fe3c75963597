#include "chat/messages.h"

#include <gtest/gtest.h>

#include <string>

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
void expect_error(const base::Result<T>& result, std::string_view message) {
  ASSERT_FALSE(result) << message;
  EXPECT_EQ(result.error().kind, base::ErrorKind::kUsage);
  EXPECT_EQ(result.error().message, message);
}

TEST(Messages, AnArrayAndAnObjectWithMessagesAreTheSame) {
  const Json expected = Json::array({make_message("user", "hi")});
  EXPECT_EQ(*parse_messages(R"([{"role": "user", "content": "hi"}])"), expected);
  EXPECT_EQ(*parse_messages(R"({"model": "m", "messages": [{"role": "user", "content": "hi"}]})"), expected);
}

TEST(Messages, FieldsThatNoEngineKnowsStayInTheirOrder) {
  const char* text = R"([{"z":1,"role":"tool","a":{"d":null,"c":[]},"content":null}])";
  EXPECT_EQ(parse_messages(text)->dump(), text);
}

TEST(Messages, ContentIsTextNothingOrTypedParts) {
  EXPECT_TRUE(check_messages(Json::array({{{"role", "assistant"}}})));
  EXPECT_TRUE(check_messages(Json::array({{{"role", "assistant"}, {"content", nullptr}}})));
  EXPECT_TRUE(check_messages(Json::array({{{"role", "user"}, {"content", Json::array({{{"type", "text"}}})}}})));
}

TEST(Messages, WhatIsWrongIsNamedByItsField) {
  expect_error(parse_messages("3"), "messages: must be an array");
  expect_error(parse_messages(R"({"message": []})"), "messages: must be an array");
  expect_error(parse_messages("[1]"), "messages[0]: must be an object");
  expect_error(parse_messages(R"([{"role": "user"}, {"content": "x"}])"),
               "messages[1].role: must be a string such as \"user\"");
  expect_error(parse_messages(R"([{"role": ""}])"), "messages[0].role: must be a string such as \"user\"");
  expect_error(parse_messages(R"([{"role": 1}])"), "messages[0].role: must be a string such as \"user\"");
  expect_error(parse_messages(R"([{"role": "user", "content": 1}])"),
               "messages[0].content: must be a string, null or an array of parts");
  expect_error(parse_messages(R"([{"role": "user", "content": [{"type": "text"}, "x"]}])"),
               "messages[0].content[1].type: must be a string such as \"text\"");
}

TEST(Messages, BrokenAndDeepJsonIsRefused) {
  expect_error(parse_messages("[{"), "messages: is not JSON (byte 3)");
  expect_error(parse_messages("[\"\xff\"]"), "messages: is not JSON (byte 3)");
  expect_error(parse_messages(std::string(100'000, '[')), "messages: nested deeper than 64 levels");
}

TEST(Messages, ExamplesBecomePairsOfMessages) {
  const auto messages = parse_examples(
      "{\"user\": \"1\", \"assistant\": \"2\"}\n\n \t\n"
      "{\"assistant\": \"4\", \"user\": \"3\"}\r\n",
      "examples.jsonl");
  EXPECT_EQ(*messages, Json::array({make_message("user", "1"), make_message("assistant", "2"),
                                    make_message("user", "3"), make_message("assistant", "4")}));
  EXPECT_EQ(*parse_examples("", "examples.jsonl"), Json::array());
}

TEST(Messages, AWrongExampleIsNamedByItsLine) {
  expect_error(parse_examples("\n{\"user\": \"1\"}", "e.jsonl"),
               "e.jsonl:2: must be an object with the members user and assistant, and no other");
  expect_error(parse_examples(R"({"user": "1", "assistant": 2})", "e.jsonl"), "e.jsonl:1: assistant: must be a string");
  expect_error(parse_examples(R"({"user": "1", "reply": "2"})", "e.jsonl"), "e.jsonl:1: assistant: must be a string");
  expect_error(parse_examples("{", "e.jsonl"), "e.jsonl:1: the example: is not JSON (byte 2)");
}

}  // namespace
}  // namespace vitrine::chat
