#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/server_fixture.h"
#include "server/socket_client.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;

class Embeddings : public ::testing::Test {
 protected:
  WireAnswer embed(const nlohmann::json& body) { return ask(server_.port(), post("/v1/embeddings", body.dump())); }
  std::vector<float> vector_of(const nlohmann::json& body) {
    const WireAnswer answer = embed(body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["data"][0]["embedding"];
  }

  TestServer server_;
};

double length_of(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values)
    squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

std::vector<float> from_base64(const std::string& text) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int num_bits = 0;
  for (const char digit : text.substr(0, text.find('='))) {
    bits = bits << 6U | static_cast<unsigned>(kDigits.find(digit));
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes.push_back(static_cast<char>(bits >> static_cast<unsigned>(num_bits)));
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

TEST_F(Embeddings, AreAListOfVectorsOfLengthOneInTheOrderOfTheInputs) {
  const WireAnswer answer = embed({{"model", "tiny"}, {"input", {"hello", "another text", "hello"}}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto json = answer.json();
  EXPECT_EQ(json["object"], "list");
  EXPECT_EQ(json["model"], "tiny");
  ASSERT_EQ(json["data"].size(), 3U);
  std::vector<std::vector<float>> vectors;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json["data"][i]["object"], "embedding");
    EXPECT_EQ(json["data"][i]["index"], i);
    vectors.push_back(json["data"][i]["embedding"]);
    EXPECT_NEAR(length_of(vectors.back()), 1.0, 1e-6);
  }
  EXPECT_EQ(vectors[0], vectors[2]);
  EXPECT_NE(vectors[0], vectors[1]);
  EXPECT_EQ(vectors[1], vector_of({{"input", "another text"}})) << "alone as beside others";
  EXPECT_EQ(json["usage"]["completion_tokens"], 0);
  EXPECT_GT(json["usage"]["prompt_tokens"], 0);
  EXPECT_EQ(json["usage"]["total_tokens"], json["usage"]["prompt_tokens"]);
}

TEST_F(Embeddings, InBase64AreTheSameVectors) {
  const WireAnswer answer = embed({{"input", "hello"}, {"encoding_format", "base64"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(from_base64(answer.json()["data"][0]["embedding"]), vector_of({{"input", "hello"}}));
}

TEST_F(Embeddings, TakeTokenIdsAndPoolTheLastTokenWhenAsked) {
  const auto ids = ask(server_.port(), post("/tokenize", R"({"prompt": "hello"})")).json()["tokens"];
  EXPECT_EQ(vector_of({{"input", ids}}), vector_of({{"input", "hello"}}));
  EXPECT_NE(vector_of({{"input", "hello"}, {"pooling", "last"}}), vector_of({{"input", "hello"}}));
}

TEST_F(Embeddings, RefuseWhatCanNotBeEmbedded) {
  const auto refusal = [&](const nlohmann::json& body) {
    const WireAnswer answer = embed(body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.json()["error"];
  };
  EXPECT_EQ(refusal({{"model", "tiny"}})["param"], "input");
  EXPECT_EQ(refusal({{"input", nlohmann::json::array()}})["param"], "input");
  EXPECT_EQ(refusal({{"input", {1000000}}})["code"], "invalid_value");
  EXPECT_EQ(refusal({{"input", "a"}, {"pooling", "cls"}})["param"], "pooling");
  EXPECT_EQ(refusal({{"input", "a"}, {"encoding_format", "int8"}})["param"], "encoding_format");
  const auto cut = refusal({{"input", "a"}, {"dimensions", 3}});
  EXPECT_EQ(cut["param"], "dimensions");
  EXPECT_THAT(cut["message"].get<std::string>(), HasSubstr("leave it out"));
}

TEST(QueueLimit, WhatWouldWaitTooLongIsRefusedWithTheTimeToComeBack) {
  auto config = TestServer::default_engine();
  config.max_sequences = 1;
  ServerOptions options;
  options.models.max_waiting = 0;
  TestServer server(options, config);
  const std::string body = R"({"prompt": "hello", "max_tokens": 2000, "ignore_eos": true, "stream": true})";
  SocketClient busy(server.port());
  busy.send(post("/v1/completions", body));
  while (server.stats().num_running == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const WireAnswer refused = ask(server.port(), post("/v1/completions", R"({"prompt": "hello", "max_tokens": 1})"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.json()["error"]["code"], "queue_full");
  EXPECT_THAT(refused.head, HasSubstr("retry-after: "));
}

}  // namespace
}  // namespace vitrine::server
