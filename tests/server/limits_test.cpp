#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"
#include "store/key_store.h"
#include "store/usage_report.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using Document = nlohmann::json;
using store::KeyRole;
using store::LimitChanges;
using ::testing::HasSubstr;
using ::testing::Not;

// The value of a header of an answer; empty where there is none.
std::string header(const WireAnswer& answer, const std::string& name) {
  const std::size_t at = answer.head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t start = at + name.size() + 4;
  return answer.head.substr(start, answer.head.find("\r\n", start) - start);
}

class LimitsTest : public ::testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions all;
    all.keys = &store_;
    return all;
  }
  // A key with these limits, by the names of the API.
  std::string key_with(const std::vector<std::pair<const char*, std::int64_t>>& numbers,
                       std::optional<std::vector<std::string>> models = {}) {
    LimitChanges changes{.models = std::move(models)};
    for (const auto& [name, number] : numbers)
      changes.numbers.emplace_back(store::find_limit_row(name), number);
    return store_.create("laptop", KeyRole::kUser, changes).text;
  }
  static Document body(int max_tokens) {
    return {{"prompt", {1, 2, 3, 4}}, {"max_tokens", max_tokens}, {"ignore_eos", true}};
  }
  static WireAnswer complete(const TestServer& server, const std::string& key, const Document& request) {
    return ask(server.port(), post("/v1/completions", request.dump(), bearer(key)));
  }
  static std::string refusal(const WireAnswer& answer, const char* code) {
    EXPECT_EQ(answer.status, 429) << answer.body;
    if (answer.status != 429) return "";
    EXPECT_EQ(answer.json()["error"]["type"], "rate_limit_error");
    EXPECT_EQ(answer.json()["error"]["code"], code);
    return answer.json()["error"]["message"];
  }
  std::int64_t ledger_tokens(const std::string& key) {
    store::UsageReport report(store_.files().folder, std::chrono::seconds(5));
    return report.tokens(key.substr(3, 8), 0, 1'000'000);
  }

  testing::TempDir temp_;
  store::KeyStore store_{temp_.path() / "state"};
};

TEST_F(LimitsTest, RequestsOfAMinute) {
  const std::string key = key_with({{"requests_per_minute", 2}});
  const TestServer server(options());
  const WireAnswer first = complete(server, key, body(1));
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(header(first, "x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(header(first, "x-ratelimit-remaining-requests"), "1");
  EXPECT_EQ(header(first, "x-ratelimit-reset-requests"), "1m0s");
  EXPECT_EQ(ask(server.port(), post("/tokenize", R"({"prompt": "a"})", bearer(key))).status, 200) << "counts as well";
  const WireAnswer third = complete(server, key, body(1));
  EXPECT_THAT(refusal(third, "rate_limit_exceeded"), HasSubstr("requests_per_minute: 2 of the 2 requests"));
  EXPECT_EQ(header(third, "x-ratelimit-remaining-requests"), "0");
  EXPECT_EQ(header(third, "retry-after"), "60");
  const WireAnswer models = ask(server.port(), get("/v1/models", bearer(key)));
  EXPECT_EQ(models.status, 200) << "a look at the list is free";
  EXPECT_EQ(header(models, "x-ratelimit-remaining-requests"), "0");
}

TEST_F(LimitsTest, TokensOfAMinute) {
  const std::string key = key_with({{"tokens_per_minute", 50}});
  const TestServer server(options());
  Document request = body(20);
  const WireAnswer first = complete(server, key, request);
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(header(first, "x-ratelimit-limit-tokens"), "50");
  EXPECT_EQ(header(first, "x-ratelimit-remaining-tokens"), "26") << "4 of the prompt and 20 of the answer";
  EXPECT_EQ(header(first, "x-ratelimit-reset-tokens"), "1m0s");
  request["stream"] = true;
  const WireAnswer second = complete(server, key, request);
  EXPECT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(header(second, "x-ratelimit-remaining-tokens"), "2") << "a stream's are those set aside";
  EXPECT_THAT(refusal(complete(server, key, request), "rate_limit_exceeded"),
              HasSubstr("tokens_per_minute: of the 50 tokens that this key has, 48 are used"));
  EXPECT_THAT(refusal(complete(server, key, body(47)), "rate_limit_exceeded"), HasSubstr("may take 51 tokens"));
}

TEST_F(LimitsTest, ChoicesAndPromptsAllCount) {
  const std::string key = key_with({{"tokens_per_minute", 100}});
  const TestServer server(options());
  Document request = body(10);
  request["prompt"] = {{1, 2, 3}, {4, 5}};
  request["n"] = 5;
  EXPECT_THAT(refusal(complete(server, key, request), "rate_limit_exceeded"), HasSubstr("may take 105 tokens"));
  request["n"] = 4;
  const WireAnswer answer = complete(server, key, request);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(header(answer, "x-ratelimit-remaining-tokens"), "15");
}

TEST_F(LimitsTest, WithoutMaxTokensAnAnswerStaysWithinTheLimit) {
  const std::string key = key_with({{"tokens_per_day", 60}});
  const TestServer server(options());
  const Document request = {{"messages", {{{"role", "user"}, {"content", "a"}}}}, {"ignore_eos", true}};
  const WireAnswer answer = ask(server.port(), post("/v1/chat/completions", request.dump(), bearer(key)));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["usage"]["total_tokens"], 60);
  EXPECT_EQ(answer.json()["choices"][0]["finish_reason"], "length");
}

TEST_F(LimitsTest, ManyAtOnceDoNotOvershoot) {
  const std::string key = key_with({{"tokens_per_day", 1000}});
  const TestServer server(options());
  std::atomic<int> num_answered{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int j = 0; j < 8; ++j) {
        const WireAnswer answer = complete(server, key, body(46));
        EXPECT_TRUE(answer.status == 200 || answer.status == 429) << answer.body;
        num_answered += answer.status == 200 ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients)
    client.join();
  EXPECT_EQ(num_answered, 20) << "fifty tokens each";
  EXPECT_EQ(ledger_tokens(key), 1000);
}

TEST_F(LimitsTest, ARestartKeepsTheCountOfTheDay) {
  const std::string key = key_with({{"tokens_per_day", 40}, {"tokens_per_month", 1000}});
  for (const bool is_first : {true, false}) {
    const TestServer server(options());
    const WireAnswer answer = complete(server, key, body(20));
    if (is_first) {
      EXPECT_EQ(answer.status, 200) << answer.body;
    } else {
      EXPECT_THAT(refusal(answer, "insufficient_quota"), HasSubstr("24 are used"));
      EXPECT_GT(std::stoi(header(answer, "retry-after")), 0);
      EXPECT_LE(std::stoi(header(answer, "retry-after")), 86'400);
    }
  }
}

TEST_F(LimitsTest, AMonthOverIsInsufficientQuota) {
  const std::string key = key_with({{"tokens_per_month", 30}});
  const TestServer server(options());
  EXPECT_EQ(complete(server, key, body(20)).status, 200);
  EXPECT_THAT(refusal(complete(server, key, body(20)), "insufficient_quota"), HasSubstr("tokens_per_month"));
}

TEST_F(LimitsTest, RequestsAtOnce) {
  const std::string key = key_with({{"max_concurrent", 1}});
  const TestServer server(options(), TestServer::patient_engine());
  {
    SocketClient stream(server.port());
    Document request = body(200'000);
    request["stream"] = true;
    stream.send(post("/v1/completions", request.dump(), bearer(key)));
    ASSERT_THAT(stream.receive_some(), HasSubstr("200 OK"));
    const WireAnswer refused = complete(server, key, body(1));
    EXPECT_THAT(refusal(refused, "rate_limit_exceeded"), HasSubstr("max_concurrent: 1 of the 1 requests"));
    EXPECT_EQ(header(refused, "retry-after"), "1");
  }
  EXPECT_TRUE(server.becomes_idle());
  WireAnswer answer = complete(server, key, body(1));
  for (int i = 0; i < 100 && answer.status == 429; ++i) {  // the end of the first is noted soon after
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    answer = complete(server, key, body(1));
  }
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST_F(LimitsTest, AModelThatTheKeyIsNotFor) {
  const std::string other = key_with({}, std::vector<std::string>{"big"});
  const std::string by_alias = key_with({}, std::vector<std::string>{"big", "alias"});
  const TestServer server(options());
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/tokenize"}) {
    const WireAnswer answer = ask(server.port(), post(path, R"({"model": "tiny", "prompt": "a"})", bearer(other)));
    EXPECT_EQ(answer.status, 403) << path << answer.body;
    EXPECT_EQ(answer.json()["error"]["type"], "permission_error");
    EXPECT_EQ(answer.json()["error"]["code"], "model_not_allowed");
    EXPECT_EQ(answer.json()["error"]["param"], "model");
  }
  EXPECT_EQ(complete(server, other, body(1)).status, 403) << "nor by leaving out its name";
  EXPECT_EQ(ask(server.port(), get("/v1/models", bearer(other))).json()["data"], Document::array());
  EXPECT_EQ(complete(server, by_alias, body(1)).status, 200);
  EXPECT_EQ(ask(server.port(), get("/v1/models", bearer(by_alias))).json()["data"].size(), 2U);
  const WireAnswer missing =
      ask(server.port(), post("/tokenize", R"({"model": "none", "prompt": "a"})", bearer(other)));
  EXPECT_EQ(missing.status, 404);
  EXPECT_THAT(missing.body, Not(HasSubstr("tiny"))) << "names of others' models are not told";
}

TEST_F(LimitsTest, ChangesCountFromTheNextRequestOn) {
  const std::string key = key_with({});
  const TestServer server(options());
  EXPECT_EQ(complete(server, key, body(1)).status, 200);
  EXPECT_EQ(header(complete(server, key, body(1)), "x-ratelimit-limit-requests"), "");
  const LimitChanges changes{.numbers = {{store::find_limit_row("requests_per_minute"), 2}}};
  store_.change_limits(key.substr(3, 8), changes);
  EXPECT_THAT(refusal(complete(server, key, body(1)), "rate_limit_exceeded"), HasSubstr("2 of the 2"));
}

TEST_F(LimitsTest, OpenServersHaveNone) {
  const TestServer server(options());
  const WireAnswer answer = ask(server.port(), post("/v1/completions", body(1).dump()));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, Not(HasSubstr("x-ratelimit")));
}

}  // namespace
}  // namespace vitrine::server
