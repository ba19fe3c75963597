#include "server/openai/answer_options.h"

#include <string>

#include <gtest/gtest.h>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

AnswerOptions read(const std::string& body, Flavour flavour = Flavour::kChat) {
  const Json object = Json::parse(body);
  Fields fields(object);
  return read_answer_options(fields, flavour);
}

// The field that the refusal names; empty where there is none.
std::string refused_field(const std::string& body, Flavour flavour = Flavour::kChat) {
  try {
    read(body, flavour);
  } catch (const ApiException& exception) {
    EXPECT_EQ(exception.error().status, 400U);
    return exception.error().param;
  }
  return "";
}

TEST(AnswerOptions, DefaultsAreThoseOfTheApi) {
  const AnswerOptions chat = read("{}");
  EXPECT_EQ(chat.sampling.temperature, 1.0F);
  EXPECT_EQ(chat.max_tokens, std::nullopt);
  EXPECT_EQ(chat.num_choices, 1U);
  EXPECT_FALSE(chat.stream);
  EXPECT_EQ(read("{}", Flavour::kText).max_tokens, 16U);
}

TEST(AnswerOptions, SamplingFieldsComeFromTheParameterTable) {
  const AnswerOptions options = read(
      R"({"temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "seed": 7, "presence_penalty": 1,
          "frequency_penalty": -0.5, "repetition_penalty": 1.1})");
  EXPECT_EQ(options.sampling.temperature, 0.5F);
  EXPECT_EQ(options.sampling.top_k, 40);
  EXPECT_EQ(options.sampling.seed, 7U);
  EXPECT_EQ(options.sampling.presence_penalty, 1.0F);
}

TEST(AnswerOptions, WhatIsOutOfRangeIsRefusedByName) {
  EXPECT_EQ(refused_field(R"({"temperature": -1})"), "temperature");
  EXPECT_EQ(refused_field(R"({"temperature": 1e308})"), "temperature");
  EXPECT_EQ(refused_field(R"({"temperature": "hot"})"), "temperature");
  EXPECT_EQ(refused_field(R"({"top_p": 1.5})"), "top_p");
  EXPECT_EQ(refused_field(R"({"repetition_penalty": 1e38})"), "repetition_penalty");
  EXPECT_EQ(refused_field(R"({"seed": 1.5})"), "seed");
  EXPECT_EQ(refused_field(R"({"n": 1000000000})"), "n");
  for (const char* bad : {"0", "-1", "9223372036854775808", "1.5"}) {
    EXPECT_EQ(refused_field(std::string(R"({"max_tokens": )") + bad + "}"), "max_tokens");
    EXPECT_EQ(refused_field(std::string(R"({"max_completion_tokens": )") + bad + "}"), "max_completion_tokens");
  }
  EXPECT_EQ(read(R"({"max_tokens": null})").max_tokens, std::nullopt);
  EXPECT_EQ(read(R"({"max_tokens": 0})", Flavour::kText).max_tokens, 0U);
}

TEST(AnswerOptions, TheTwoNamesOfTheLimitMustAgree) {
  EXPECT_EQ(read(R"({"max_completion_tokens": 5})").max_tokens, 5U);
  EXPECT_EQ(read(R"({"max_tokens": 5, "max_completion_tokens": 5})").max_tokens, 5U);
  EXPECT_EQ(refused_field(R"({"max_tokens": 4, "max_completion_tokens": 5})"), "max_tokens");
}

TEST(AnswerOptions, LogitBiasNamesTokens) {
  EXPECT_EQ(read(R"({"logit_bias": {"5": -100, "6": 1.5}})").sampling.logit_bias.size(), 2U);
  for (const char* bad :
       {R"({"AI": 1})", R"({"-1": 1})", R"({"1.5": 1})", R"({"5": "a"})", R"({"99999999999": 1})", R"([5])"})
    EXPECT_EQ(refused_field(std::string(R"({"logit_bias": )") + bad + "}"), "logit_bias") << bad;
  std::string many = "{\"0\": 1";
  for (int id = 1; id < 2000; ++id)
    many += ", \"" + std::to_string(id) + "\": 1";
  EXPECT_EQ(refused_field("{\"logit_bias\": " + many + "}}"), "logit_bias");
}

TEST(AnswerOptions, LogprobsHaveTheShapeOfTheirEndpoint) {
  EXPECT_TRUE(read(R"({"logprobs": true})").sampling.logprobs);
  EXPECT_EQ(read(R"({"logprobs": true, "top_logprobs": 20})").sampling.top_logprobs, 20);
  EXPECT_EQ(refused_field(R"({"logprobs": true, "top_logprobs": 1000000})"), "top_logprobs");
  EXPECT_EQ(refused_field(R"({"top_logprobs": 2})"), "top_logprobs");
  EXPECT_EQ(read(R"({"logprobs": 3})", Flavour::kText).sampling.top_logprobs, 3);
  EXPECT_EQ(refused_field(R"({"logprobs": 6})", Flavour::kText), "logprobs");
  EXPECT_EQ(refused_field(R"({"logprobs": 3})"), "logprobs");
}

TEST(AnswerOptions, StopStringsAreFewAndShort) {
  EXPECT_EQ(read(R"({"stop": "\n"})").stops.size(), 1U);
  EXPECT_EQ(read(R"({"stop": ["a", "b", "c", "d"]})").stops.size(), 4U);
  EXPECT_EQ(refused_field(R"({"stop": ""})"), "stop");
  EXPECT_EQ(refused_field(R"({"stop": ["a", 5]})"), "stop");
  EXPECT_EQ(refused_field(R"({"stop": ")" + std::string(1'000'000, 'x') + "\"}"), "stop");
  EXPECT_EQ(refused_field(Json{{"stop", std::vector<std::string>(100'000, "x")}}.dump()), "stop");
}

TEST(AnswerOptions, WhatCannotBeHonouredIsRefusedAndWhatMeansNothingPasses) {
  EXPECT_EQ(refused_field(R"({"tools": [{"type": "function"}]})"), "tools");
  EXPECT_EQ(refused_field(R"({"response_format": {"type": "json_object"}})"), "response_format");
  EXPECT_EQ(refused_field(R"({"response_format": {"type": 5}})"), "response_format.type");
  EXPECT_EQ(refused_field(R"({"suffix": "end"})", Flavour::kText), "suffix");
  EXPECT_EQ(refused_field(R"({"best_of": 3})", Flavour::kText), "best_of");
  EXPECT_EQ(refused_field(R"({"tool_choice": "required"})"), "tool_choice");
  EXPECT_EQ(refused_field(R"({"stream_options": {"include_usage": true}})"), "stream_options");
  EXPECT_EQ(refused_field(R"({"tools": [], "response_format": {"type": "text"}, "user": "me", "store": false,
                              "tool_choice": "none", "metadata": {}, "modalities": ["text"]})"),
            "");
}

}  // namespace
}  // namespace vitrine::server
