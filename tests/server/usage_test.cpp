#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "server/server_fixture.h"
#include "store/key_store.h"
#include "store/usage_file.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using Document = nlohmann::json;
using store::KeyRole;
using store::UsageRow;
using ::testing::HasSubstr;
using ::testing::Not;

class UsageOfServer : public ::testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions all;
    all.keys = &store_;
    return all;
  }
  static Document body(int max_tokens, bool is_streamed) {
    return {{"prompt", {1, 2, 3, 4}}, {"max_tokens", max_tokens}, {"ignore_eos", true}, {"stream", is_streamed}};
  }
  // The newest row of the ledger; nothing where there is none.
  std::optional<UsageRow> last_row() const {
    const store::Database database = store::open_usage_file(store_.files().folder, std::chrono::seconds(5));
    store::Statement row = database.prepare("SELECT * FROM usage ORDER BY number DESC LIMIT 1");
    if (!row.step()) return std::nullopt;
    return UsageRow{.time_s = row.integer(1),
                    .key_id = row.text(2),
                    .request_id = row.text(3),
                    .model = row.text(4),
                    .endpoint = row.text(5),
                    .prompt_tokens = row.integer(6),
                    .cached_tokens = row.integer(7),
                    .completion_tokens = row.integer(8),
                    .outcome = row.text(9),
                    .queue_s = row.real(10),
                    .prefill_s = row.real(11),
                    .decode_s = row.real(12),
                    .total_s = row.real(13),
                    .cost_nano = row.integer(14),
                    .currency = row.text(15)};
  }
  // The same, waiting for it.
  UsageRow wait_for_row() const {
    for (int i = 0; i < 500; ++i) {
      if (auto row = last_row()) return *row;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "no row";
    return {};
  }

  testing::TempDir temp_;
  store::KeyStore store_{temp_.path() / "state"};
};

TEST_F(UsageOfServer, AnAnswerIsInTheLedgerBeforeItsLastByteIsSent) {
  const store::NewKey key = store_.create("laptop", KeyRole::kUser);
  const TestServer server(options());
  for (const bool is_streamed : {false, true}) {
    const WireAnswer answer = ask(server.port(), post("/completions", body(6, is_streamed).dump(), bearer(key.text)));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto row = last_row();
    ASSERT_TRUE(row);
    EXPECT_EQ(row->key_id, key.info.id);
    EXPECT_THAT(answer.head, HasSubstr("x-request-id: " + row->request_id));
    EXPECT_EQ(row->model, "tiny");
    EXPECT_EQ(row->endpoint, "/v1/completions");
    EXPECT_EQ(row->prompt_tokens, 4);
    EXPECT_EQ(row->completion_tokens, 6);
    EXPECT_EQ(row->outcome, "length");
    EXPECT_GT(row->prefill_s, 0.0);
    EXPECT_GT(row->decode_s, 0.0);
    EXPECT_GE(row->total_s, row->prefill_s + row->decode_s);
    EXPECT_EQ(row->currency, "");
  }
}

TEST_F(UsageOfServer, WithoutKeysItIsNotedToo) {
  const TestServer server(options());
  EXPECT_EQ(ask(server.port(), post("/v1/completions", body(3, false).dump())).status, 200);
  EXPECT_EQ(last_row()->key_id, "");
  EXPECT_EQ(last_row()->completion_tokens, 3);
}

TEST_F(UsageOfServer, ACostIsThatOfThePriceTable) {
  std::ofstream(temp_.path() / "prices.toml")
      << "currency = 'USD'\n[models.tiny]\ninput = 1.0\ncached_input = 0.1\noutput = 2.0\n";
  ServerOptions priced = options();
  priced.prices = cost::PriceTable(temp_.path() / "prices.toml");
  const TestServer server(priced);
  Document request = body(5, false);
  request["prompt"] = std::string(100, 'x');
  request["model"] = "alias";
  for (const bool is_first : {true, false}) {
    const Document usage = ask(server.port(), post("/v1/completions", request.dump())).json()["usage"];
    const std::int64_t prompt = usage["prompt_tokens"];
    const std::int64_t cached = usage["prompt_tokens_details"]["cached_tokens"];
    EXPECT_EQ(cached > 0, !is_first);
    EXPECT_EQ(last_row()->cached_tokens, cached);
    EXPECT_EQ(last_row()->cost_nano, (prompt - cached) * 1000 + cached * 100 + 5 * 2000);
    EXPECT_EQ(last_row()->currency, "USD");
  }
}

TEST_F(UsageOfServer, AClientThatGoesHasUsedWhatWasComputed) {
  const TestServer server(options(), TestServer::patient_engine());
  {
    SocketClient client(server.port());
    client.send(post("/v1/completions", body(200'000, true).dump()));
    for (std::string seen; seen.size() < 4096;) {
      const std::string more = client.receive_some();
      ASSERT_NE(more, "");
      seen += more;
    }
  }
  const UsageRow row = wait_for_row();
  EXPECT_EQ(row.outcome, "abort");
  EXPECT_EQ(row.prompt_tokens, 4);
  EXPECT_GT(row.completion_tokens, 5);
  EXPECT_LT(row.completion_tokens, 200'000);
  EXPECT_TRUE(server.becomes_idle());
}

TEST_F(UsageOfServer, AClientThatGoesWhileItWaitsHasUsedNothing) {
  engine::EngineConfig config = TestServer::patient_engine();
  config.max_sequences = 1;
  const TestServer server(options(), config);
  SocketClient first(server.port());
  first.send(post("/v1/completions", body(200'000, true).dump()));
  ASSERT_THAT(first.receive_some(), HasSubstr("200 OK"));
  {
    SocketClient second(server.port());
    second.send(post("/v1/completions", body(5, true).dump()));
    ASSERT_THAT(second.receive_some(), HasSubstr("200 OK"));
  }
  const UsageRow row = wait_for_row();
  EXPECT_EQ(row.outcome, "abort");
  EXPECT_EQ(row.prompt_tokens, 0);
  EXPECT_EQ(row.completion_tokens, 0);
}

TEST_F(UsageOfServer, AKeyThatEndsHasUsedWhatWasComputed) {
  const store::NewKey key = store_.create("laptop", KeyRole::kUser);
  const TestServer server(options(), TestServer::patient_engine());
  SocketClient client(server.port());
  client.send(post("/v1/completions", body(200'000, true).dump(), bearer(key.text)));
  ASSERT_THAT(client.receive_some(), HasSubstr("200 OK"));
  store_.revoke(key.info.id);
  const UsageRow row = wait_for_row();
  EXPECT_EQ(row.key_id, key.info.id);
  EXPECT_EQ(row.outcome, "abort");
  EXPECT_GT(row.completion_tokens, 0);
}

TEST_F(UsageOfServer, AnAnswerCutByTheEndOfTheServerIsNoted) {
  {
    ServerOptions hasty = options();
    hasty.grace = std::chrono::seconds(0);
    TestServer server(hasty, TestServer::patient_engine());
    SocketClient client(server.port());
    client.send(post("/v1/completions", body(200'000, true).dump()));
    for (std::string seen; seen.size() < 4096;)
      seen += client.receive_some();
    server.stop();
  }
  ASSERT_TRUE(last_row());
  EXPECT_EQ(last_row()->outcome, "abort");
  EXPECT_GT(last_row()->completion_tokens, 5);
}

TEST_F(UsageOfServer, WhatWasRefusedIsNotNoted) {
  const TestServer server(options());
  EXPECT_EQ(ask(server.port(), post("/v1/completions", body(-1, false).dump())).status, 400);
  Document request = body(1, false);
  request["prompt"] = Document::array({1'000'000});
  EXPECT_EQ(ask(server.port(), post("/v1/completions", request.dump())).status, 400);
  EXPECT_FALSE(last_row());
}

TEST_F(UsageOfServer, AnAnswerThatCantBeNotedIsNotGiven) {
  const TestServer server(options());
  store::Database(store::usage_path(store_.files().folder), std::chrono::seconds(5)).execute("DROP TABLE totals");
  const WireAnswer whole = ask(server.port(), post("/v1/completions", body(5, false).dump()));
  EXPECT_EQ(whole.status, 503);
  EXPECT_EQ(whole.json()["error"]["code"], "storage_unavailable");
  const WireAnswer stream = ask(server.port(), post("/v1/completions", body(5, true).dump()));
  EXPECT_THAT(stream.body, HasSubstr("storage_unavailable"));
  EXPECT_THAT(stream.body, Not(HasSubstr("[DONE]")));
}

TEST_F(UsageOfServer, StopStringsEndTheCountOfTokens) {
  const TestServer server(options());
  Document request = body(30, false);
  request["temperature"] = 0;  // or the second answer would be another one
  const std::string text = ask(server.port(), post("/v1/completions", request.dump())).json()["choices"][0]["text"];
  const auto is_start = [](char c) { return !base::is_continuation(c); };
  const auto start = std::find_if(text.begin() + 3, text.end(), is_start);
  ASSERT_NE(start, text.end());
  request["stop"] = Document::array({std::string(start, std::find_if(start + 1, text.end(), is_start))});
  const Document answer = ask(server.port(), post("/v1/completions", request.dump())).json();
  EXPECT_EQ(last_row()->outcome, "stop");
  EXPECT_EQ(last_row()->completion_tokens, answer["usage"]["completion_tokens"]);
}

}  // namespace
}  // namespace vitrine::server
