#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"

// Every request here is answered with a refusal that names its field, and none of them reaches the engine.
namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using Body = nlohmann::json;

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kText = "/v1/completions";

struct Refusal {
  int status = 0;
  std::string param = {};  // "null" where there is none
  std::string code = {};

  bool operator==(const Refusal&) const = default;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.status << " " << refusal.param << " " << refusal.code;
}

class Refusals : public ::testing::Test {
 protected:
  static engine::EngineConfig small_pool() {
    engine::EngineConfig config = TestServer::default_engine();
    config.kv_memory_bytes = std::size_t{1} << 20U;
    return config;
  }
  ~Refusals() override { EXPECT_EQ(server_.stats().num_steps, 0U) << "a refused request reached the engine"; }

  Refusal ask(const char* path, const std::string& body) {
    const WireAnswer answer = server::ask(server_.port(), post(path, body));
    if (answer.status < 400) return {answer.status};
    const Body error = answer.json()["error"];
    EXPECT_EQ(error.size(), 4U) << error;
    EXPECT_TRUE(error["message"].is_string() && !error["message"].empty()) << error;
    EXPECT_EQ(error["type"], "invalid_request_error") << error;
    const auto text = [](const Body& value) { return value.is_null() ? "null" : value.get<std::string>(); };
    return {answer.status, text(error["param"]), text(error["code"])};
  }
  // A chat that is sound but for these members, given as the text of JSON.
  Refusal chat(const std::string& members) {
    return ask(kChat, R"({"messages": [{"role": "user", "content": "hi"}], )" + members + "}");
  }
  Refusal text(const std::string& members) { return ask(kText, "{" + members + "}"); }
  Refusal message(const std::string& content) {
    return ask(kChat, R"({"messages": [{"role": "user", "content": )" + content + "}]}");
  }

  TestServer server_{{}, small_pool()};
};

Refusal bad(std::string param, std::string code = "invalid_value") {
  return {400, std::move(param), std::move(code)};
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

TEST_F(Refusals, DeepNestingInFieldsThatAreReadAndInOthers) {
  const std::string deep = std::string(3000, '[') + std::string(3000, ']');
  EXPECT_EQ(chat("\"tools\": " + deep), bad("null", "json_too_deep"));
  EXPECT_EQ(chat("\"nobody_reads_this\": " + deep), bad("null", "json_too_deep"));
  EXPECT_EQ(ask(kChat, std::string(1'000'000, '[')), bad("null", "json_too_deep"));
  EXPECT_EQ(ask(kChat, repeated("{\"a\":", 3000)), bad("null", "json_too_deep"));
}

TEST_F(Refusals, TextThatIsNotUtf8IsNamedByItsPlace) {
  for (const char* wrong :
       {"\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xC4\xE3\xBA\xC3\"", "\"\xFF\"", R"("\ud800")", R"("\udc00\ud800")"})
    EXPECT_EQ(message(wrong), bad("messages[0].content", "invalid_json")) << wrong;
  EXPECT_EQ(text("\"prompt\": [\"a\", \"\xC0\x80\"]"), bad("prompt[1]", "invalid_json"));
  EXPECT_EQ(ask(kText, "\xFF\xFE{}"), bad("null", "invalid_json"));
}

TEST_F(Refusals, NumbersAndKeysThatReadersDifferOn) {
  EXPECT_EQ(chat(R"("model": "tiny", "model": "other")"), bad("model", "invalid_json"));
  EXPECT_EQ(chat(R"("temperature": 1e400)"), bad("temperature", "invalid_json"));
  EXPECT_EQ(chat(R"("temperature": NaN)"), bad("temperature", "invalid_json"));
  EXPECT_EQ(chat(R"("seed": Infinity)"), bad("seed", "invalid_json"));
  EXPECT_EQ(chat(R"("seed": 9223372036854775808)"), bad("seed", "invalid_type"));
  EXPECT_EQ(chat(R"("max_tokens": "5")"), bad("max_tokens", "invalid_type"));
  EXPECT_EQ(chat(R"("n": 18446744073709551616)"), bad("n", "invalid_type"));
  EXPECT_EQ(ask(kText, R"({"prompt": "a"} x)"), bad("null", "invalid_json"));
  EXPECT_EQ(ask(kText, R"({"prompt": "a"}{})"), bad("null", "invalid_json"));
  EXPECT_EQ(text("\"" + std::string(5000, 'k') + R"(": NaN)"), bad("null", "invalid_json")) << "a key of the client's";
}

TEST_F(Refusals, FieldsThatMultiplyTheWork) {
  for (const char* n : {"1000000000", "9", "0", "-1"})
    EXPECT_EQ(chat(fmt::format(R"("n": {})", n)), bad("n")) << n;
  EXPECT_EQ(text(R"("prompt": "a", "best_of": 1000)"), bad("best_of"));
  EXPECT_EQ(text(R"("prompt": [)" + repeated("\"a\",", 64) + "\"a\"]"), bad("prompt"));
}

TEST_F(Refusals, LengthsOutOfRange) {
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    for (const char* number : {"0", "-1", "9223372036854775807", "18446744073709551615"})
      EXPECT_EQ(chat(fmt::format("\"{}\": {}", name, number)), bad(name)) << number;
    for (const char* number : {"1.5", "9223372036854775808.0", "\"5\"", "[]", "true"})
      EXPECT_EQ(chat(fmt::format("\"{}\": {}", name, number)), bad(name, "invalid_type")) << number;
  }
}

TEST_F(Refusals, SamplingParametersOutOfRange) {
  for (const auto& [field, value] : std::vector<std::pair<const char*, const char*>>{{"temperature", "1e308"},
                                                                                     {"temperature", "-1"},
                                                                                     {"top_p", "0"},
                                                                                     {"top_p", "-0.0"},
                                                                                     {"top_p", "1.01"},
                                                                                     {"repetition_penalty", "1e38"},
                                                                                     {"top_k", "-2"},
                                                                                     {"presence_penalty", "1e38"},
                                                                                     {"frequency_penalty", "-1e38"},
                                                                                     {"min_p", "2"},
                                                                                     {"repetition_penalty", "-1e38"}})
    EXPECT_EQ(chat(fmt::format("\"{}\": {}", field, value)), bad(field)) << value;
  for (const char* value : {"\"hot\"", "[1]", "{}", "true"})
    EXPECT_EQ(chat(fmt::format("\"temperature\": {}", value)).param, "temperature") << value;
}

TEST_F(Refusals, TokenIdsThatAreNotInTheVocabulary) {
  for (const char* biases : {R"({"191222": -100})", R"({"AI": 1})", R"({"-1": 1})", R"({"320": 1})", R"({"5": 1e30})",
                             R"({"4294967297": 1})", R"({"": 1})"})
    EXPECT_EQ(chat(fmt::format("\"logit_bias\": {}", biases)), bad("logit_bias")) << biases;
  std::string many = "\"0\": 1";
  for (int id = 1; id < 2000; ++id)
    many += fmt::format(", \"{}\": 1", id);
  EXPECT_EQ(chat("\"logit_bias\": {" + many + "}"), bad("logit_bias"));
  EXPECT_EQ(chat(R"("logit_bias": {"5": "a"})"), bad("logit_bias", "invalid_type"));
}

TEST_F(Refusals, MoreLogprobsThanThereAre) {
  EXPECT_EQ(chat(R"("logprobs": true, "top_logprobs": 1000000)"), bad("top_logprobs"));
  EXPECT_EQ(chat(R"("logprobs": true, "top_logprobs": 21)"), bad("top_logprobs"));
  EXPECT_EQ(chat(R"("top_logprobs": 3)"), bad("top_logprobs"));
  EXPECT_EQ(text(R"("prompt": "a", "logprobs": 1000000)"), bad("logprobs"));
}

TEST_F(Refusals, PromptsThatAreEmptyOrNone) {
  EXPECT_EQ(ask(kChat, R"({"messages": []})"), bad("messages"));
  EXPECT_EQ(ask(kChat, "{}"), bad("messages", "missing_field"));
  EXPECT_EQ(ask(kChat, R"({"messages": "hi"})"), bad("messages"));
  EXPECT_EQ(ask(kChat, R"({"messages": [5]})"), bad("messages"));
  for (const char* prompt : {"\"\"", "[]", "[\"\"]", "[[]]", "[[5], []]"})
    EXPECT_EQ(text(fmt::format("\"prompt\": {}", prompt)), bad("prompt")) << prompt;
  EXPECT_EQ(text("\"prompt\": [1000000]"), bad("prompt"));
  for (const char* prompt : {"[-1]", "5", "[[-1]]", "[1.5]", "[\"a\", 5]", "{}"})
    EXPECT_EQ(text(fmt::format("\"prompt\": {}", prompt)).param, "prompt") << prompt;
}

TEST_F(Refusals, APromptLongerThanContextOrPool) {
  const std::size_t pool_tokens = server_.stats().num_blocks * 16;
  ASSERT_LT(pool_tokens, 4096U) << "the pool must be the narrower limit here";
  const auto prompt = [](std::size_t size) { return "\"" + std::string(size, 'x') + "\""; };
  EXPECT_EQ(text("\"prompt\": " + prompt(pool_tokens + 1)), bad("prompt", "context_length_exceeded"));
  EXPECT_EQ(text("\"prompt\": " + prompt(pool_tokens)), bad("prompt", "context_length_exceeded")) << "one to generate";
  EXPECT_EQ(message(prompt(pool_tokens)), bad("messages", "context_length_exceeded"));
  EXPECT_EQ(text("\"prompt\": \"" + repeated("\\n", 4'000'000) + "\""), bad("prompt", "context_length_exceeded"));
  EXPECT_EQ(ask("/v1/embeddings", "{\"input\": " + prompt(pool_tokens + 1) + "}"),
            bad("input", "context_length_exceeded"));
  EXPECT_EQ(text("\"prompt\": [\"short\", " + prompt(pool_tokens + 1) + "]"), bad("prompt", "context_length_exceeded"))
      << "none of several prompts begins";
}

TEST_F(Refusals, StopStringsThatAreManyEmptyOrLong) {
  EXPECT_EQ(chat(R"("stop": "")"), bad("stop"));
  EXPECT_EQ(chat(R"("stop": ["a", ""])"), bad("stop"));
  EXPECT_EQ(chat(R"("stop": [)" + repeated("\"a\",", 99'999) + "\"a\"]"), bad("stop"));
  EXPECT_EQ(chat(R"("stop": [)" + repeated("\"a\",", 16) + "\"a\"]"), bad("stop"));
  EXPECT_EQ(chat(R"("stop": ")" + std::string(1'000'000, 's') + "\""), bad("stop"));
  EXPECT_EQ(chat(R"("stop": ")" + std::string(257, 's') + "\""), bad("stop"));
  EXPECT_EQ(chat(R"("stop": 5)"), bad("stop", "invalid_type"));
}

TEST_F(Refusals, WhatIsTheServersToChoose) {
  EXPECT_EQ(chat(R"("chat_template_kwargs": {"tokenize": true})"), bad("chat_template_kwargs"));
  EXPECT_EQ(chat(R"("chat_template_kwargs": {"messages": "x"})"), bad("chat_template_kwargs"));
  EXPECT_EQ(chat(R"("chat_template_kwargs": {"enable_thinking": [1]})"), bad("chat_template_kwargs", "invalid_type"));
  EXPECT_EQ(chat(R"("chat_template_kwargs": 5)"), bad("chat_template_kwargs", "invalid_type"));
  EXPECT_EQ(chat(R"("chat_template": "{{ messages }}")"), bad("chat_template", "unsupported"));
}

TEST_F(Refusals, AddressesThatTheServerWouldHaveToFetch) {
  for (const char* url : {"http://169.254.169.254/latest/meta-data", "file:///dev/zero", "data:image/png;base64,AAAA",
                          "gopher://localhost:1"}) {
    const std::string part = fmt::format(R"([{{"type": "image_url", "image_url": {{"url": "{}"}}}}])", url);
    EXPECT_EQ(message(part), bad("messages[0].content", "unsupported")) << url;
  }
}

TEST_F(Refusals, ModelsAreNamesInATableAndNoPaths) {
  for (const char* name : {"../../etc/passwd", "/etc/passwd", R"(tiny\u0000.gguf)", R"(..\\..\\tiny)", "TINY", "tiny/",
                           "./tiny", "hf://someone/model"})
    EXPECT_EQ(chat(fmt::format("\"model\": \"{}\"", name)), (Refusal{404, "model", "model_not_found"})) << name;
}

TEST_F(Refusals, NeverRepeatWhatWasSent) {
  const std::string secret = "Zq7-never-to-be-seen-again";
  for (const std::string& body :
       {"{\"prompt\": \"" + secret + "\xFF\"}", "{\"model\": \"" + secret + "\", \"prompt\": \"a\"}",
        "{\"prompt\": [\"" + secret + "\", 5]}", "{\"" + secret + "\": NaN}",
        "{\"prompt\": \"a\", \"logit_bias\": {\"" + secret + "\": 1}}",
        "{\"prompt\": \"a\", \"chat_template\": \"" + secret + "\"}", secret}) {
    const WireAnswer answer = server::ask(server_.port(), post(kText, body));
    EXPECT_GE(answer.status, 400);
    EXPECT_THAT(answer.head + answer.body, ::testing::Not(HasSubstr(secret))) << body;
  }
}

// The other side of the table: what looks odd and is sound.
TEST(Accepted, ValuesAtTheEdgeOfTheirRange) {
  const TestServer server;
  for (const char* members :
       {R"("temperature": 1e-4)", R"("temperature": 2)", R"("top_p": 1e-6)", R"("n": 8)", R"("best_of": 1)",
        R"("n_discard": -1)", R"("stop": ["a", "b", "c", "d"])", R"("logprobs": 5)",
        R"("max_tokens": 2147483647, "logit_bias": {"257": 100})", R"("logit_bias": {"319": -100, "0": 100})",
        R"("max_tokens": null)", R"("seed": -9223372036854775808)"}) {
    const std::string body = fmt::format(R"({{"prompt": "a", {}}})", members);
    const WireAnswer answer = ask(server.port(), post(kText, body));
    EXPECT_EQ(answer.status, 200) << members << answer.body;
  }
}

TEST(Accepted, ATinyTemperatureIsGreedy) {
  const TestServer server;
  const auto answer = [&](const char* temperature) {
    return ask(server.port(),
               post(kText, fmt::format(R"({{"prompt": "a", "max_tokens": 40, "temperature": {}}})", temperature)))
        .json()["choices"][0]["text"];
  };
  EXPECT_EQ(answer("1e-4"), answer("0"));
}

TEST(Accepted, AZeroByteInATextCountsAsOne) {
  const TestServer server;
  const WireAnswer answer = ask(server.port(), post("/tokenize", R"({"prompt": "a\u0000b"})"));
  EXPECT_EQ(answer.json()["count"], 3);
}

}  // namespace
}  // namespace vitrine::server
