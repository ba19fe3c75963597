#include "server/openai/fields.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// The error that `act` ends with; status 200 where it ends without one.
template <typename Act>
ApiError error_of(Act act) {
  try {
    act();
  } catch (const ApiException& exception) {
    return exception.error();
  }
  return {.status = 200};
}

ApiError body_error(const std::string& body) {
  return error_of([&] { parse_body(body); });
}

TEST(Body, IsAnObjectOfWellFormedJson) {
  EXPECT_EQ(parse_body(R"({"a": [1, "é", null]})")["a"].size(), 3U);
  for (const char* bad : {"", "[]", "5", "{", "{\"a\":1}x", "{\"a\":NaN}", "{\"a\":1e400}", "{'a':1}", "\xEF\xBB{}"})
    EXPECT_EQ(body_error(bad).code, "invalid_json") << bad;
}

TEST(Body, TextMustBeUtf8WithoutLoneSurrogates) {
  for (const char* bad :
       {"{\"a\":\"\xC0\x80\"}", "{\"a\":\"\xED\xA0\x80\"}", "{\"a\":\"\xC4\xE3\"}", R"({"a":"\ud800"})"})
    EXPECT_EQ(body_error(bad).status, 400U) << bad;
  EXPECT_EQ(parse_body("{\"a\":\"x\\u0000y\"}")["a"].get<std::string>().size(), 3U);
}

TEST(Body, AKeyThatStandsTwiceIsRefusedAtAnyDepth) {
  EXPECT_THAT(body_error(R"({"model":"a","model":"b"})").message, HasSubstr("twice"));
  EXPECT_THAT(body_error(R"({"a":[{"b":{"c":1,"c":2}}]})").message, HasSubstr("twice"));
  EXPECT_EQ(body_error(R"({"a":[{"b":1},{"b":1}],"b":{"a":{"b":1}}})").status, 200U);
}

TEST(Body, DepthIsLimited) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(body_error(nested(64)).status, 200U);
  EXPECT_EQ(body_error(nested(65)).code, "json_too_deep");
  EXPECT_EQ(body_error(nested(3000)).code, "json_too_deep");
  EXPECT_EQ(body_error("{\"a\":" + std::string(1'000'000, '[')).code, "json_too_deep");
}

TEST(Body, AnObjectOfManyMembersIsRefusedBeforeItCostsMuch) {
  std::string body = "{\"a0\":0";
  for (int i = 1; i < 500'000; ++i)
    body += ",\"a" + std::to_string(i) + "\":0";
  EXPECT_THAT(body_error(body + "}").message, HasSubstr("more than 4096 members"));
}

TEST(Fields, NullCountsAsAbsent) {
  const Json object = Json::parse(R"({"a": null})");
  Fields fields(object);
  EXPECT_EQ(fields.text("a"), std::nullopt);
  EXPECT_EQ(fields.flag("a"), std::nullopt);
  EXPECT_EQ(fields.count("a", 0, 5), std::nullopt);
  EXPECT_TRUE(fields.texts("a", 4).empty());
  EXPECT_TRUE(fields.unread().empty());
}

TEST(Fields, CountsAreWholeNumbersWithinTheirRange) {
  for (const char* bad :
       {R"({"n": "5"})", R"({"n": 1.5})", R"({"n": -1})", R"({"n": 0})", R"({"n": 9})", R"({"n": true})",
        R"({"n": 9223372036854775808})", R"({"n": 18446744073709551615})", R"({"n": []})"}) {
    const Json object = Json::parse(bad);
    const ApiError error = error_of([&] { Fields(object).count("n", 1, 8); });
    EXPECT_EQ(error.status, 400U) << bad;
    EXPECT_EQ(error.param, "n") << bad;
  }
  const Json object = Json::parse(R"({"n": 8})");
  EXPECT_EQ(Fields(object).count("n", 1, 8), 8U);
}

TEST(Fields, AStringMayStandForAListOfOne) {
  const Json object = Json::parse(R"({"one": "a", "two": ["a", "b"], "bad": ["a", 1], "many": ["", "", ""]})");
  Fields fields(object);
  EXPECT_EQ(fields.texts("one", 2), std::vector<std::string>{"a"});
  EXPECT_EQ(fields.texts("two", 2).size(), 2U);
  EXPECT_EQ(error_of([&] { fields.texts("bad", 2); }).param, "bad");
  EXPECT_EQ(error_of([&] { fields.texts("many", 2); }).param, "many");
}

TEST(Fields, UnreadOnesAreNamedWithTheirPath) {
  const Json object = Json::parse(R"({"a": 1, "b": 2})");
  Fields fields(object, "stream_options.");
  fields.find("a");
  EXPECT_EQ(fields.unread(), std::vector<std::string>{"stream_options.b"});
}

}  // namespace
}  // namespace vitrine::server
