#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"
#include "store/key_store.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Body = nlohmann::json;
using namespace std::chrono_literals;

Body completion(const Body& prompt, int max_tokens) {
  return {{"prompt", prompt}, {"max_tokens", max_tokens}, {"temperature", 0}, {"ignore_eos", true}};
}

WireAnswer complete(const TestServer& server, const Body& body, const std::string& headers = "") {
  return ask(server.port(), post("/v1/completions", body.dump(), headers));
}

// A request to the engine itself, whose events go to the test.
engine::Request plain_request(std::size_t max_tokens) {
  engine::Request request;
  request.prompt = {1, 2, 3};
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  return request;
}

class NotANumber : public ::testing::Test {
 protected:
  static constexpr int kToken = testing::ChatModel::kNanId;

  // A neighbour of requests with that token, which never makes it itself.
  static Body neighbour(char letter) {
    Body body = completion(std::string(20, letter), 300);
    body["logit_bias"] = {{std::to_string(kToken), -100}};
    return body;
  }

  TestServer server_{{}, TestServer::default_engine(), {.has_nan_token = true}};
};

TEST_F(NotANumber, EndsItsRequestAloneAndChangesNoBitOfItsNeighbours) {
  const Body alone = complete(server_, neighbour('a')).json()["choices"];
  std::vector<std::unique_ptr<SocketClient>> neighbours;
  for (int i = 0; i < 4; ++i) {
    neighbours.push_back(std::make_unique<SocketClient>(server_.port()));
    neighbours.back()->send(post("/v1/completions", neighbour('a').dump()));
  }
  for (int i = 0; i < 10; ++i) {
    const WireAnswer answer = complete(server_, completion({1, 2, kToken}, 5));
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.json()["error"]["type"], "server_error");
    EXPECT_EQ(answer.json()["error"]["code"], "numerical_error");
  }
  for (const auto& client : neighbours)
    EXPECT_EQ(client->receive().json()["choices"], alone);
  EXPECT_TRUE(server_.becomes_idle());
}

TEST_F(NotANumber, EndsAStreamWithAnErrorAndNoDone) {
  Body body = completion({1, 2, kToken}, 5);
  body["stream"] = true;
  const auto events = complete(server_, body).events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(Body::parse(events.back())["error"]["code"], "numerical_error");
}

TEST(EngineFault, MakesHealthFailAndEndsTheServerWithinASecond) {
  TestServer server({}, TestServer::patient_engine(), {.expects_fault = true});
  SocketClient watcher(server.port());
  watcher.send(get("/health"));
  EXPECT_EQ(watcher.receive().status, 200);
  SocketClient stream(server.port());
  Body body = completion("a", 200'000);
  body["stream"] = true;
  stream.send(post("/v1/completions", body.dump()));
  EXPECT_THAT(stream.receive_some(), HasSubstr("200 OK"));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(server.engine().submit(
      plain_request(3), [](const engine::TokenEvent&) { throw std::runtime_error("a fault of our own"); }));
  EXPECT_EQ(server.wait_for_fault(), "a fault of our own");
  watcher.send(get("/health"));
  const WireAnswer health = watcher.receive();
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.json()["status"], "failed");
  server.wait_for_end();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
}

TEST(EngineStall, MakesHealthFailUntilItIsOver) {
  engine::EngineConfig config = TestServer::default_engine();
  config.stall_limit = 100ms;
  TestServer server({}, config);
  std::latch go_on(1);
  ASSERT_TRUE(server.engine().submit(plain_request(1), [&](const engine::TokenEvent&) { go_on.wait(); }));
  SocketClient waiting(server.port());
  waiting.send(post("/v1/completions", completion("a", 3).dump()));
  WireAnswer health = ask(server.port(), get("/health"));
  for (int i = 0; i < 500 && health.status == 200; ++i) {
    std::this_thread::sleep_for(10ms);
    health = ask(server.port(), get("/health"));
  }
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.json()["status"], "stalled");
  go_on.count_down();
  EXPECT_EQ(waiting.receive().status, 200);
  EXPECT_EQ(ask(server.port(), get("/health")).status, 200);
}

TEST(EngineStall, IsThirtySecondsWithoutProgress) {
  EXPECT_EQ(engine::EngineConfig().stall_limit, 30s);
}

// What a client costs that leaves while its request waits, its prompt is computed, or its answer is made.
class Departure : public ::testing::Test {
 protected:
  static engine::EngineConfig one_at_a_time() {
    engine::EngineConfig config = TestServer::patient_engine();
    config.max_sequences = 1;
    config.max_chunk_tokens = 16;
    return config;
  }
  static void wait_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000 && !condition(); ++i)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(condition());
  }
  std::unique_ptr<SocketClient> ask_for(const Body& body) {
    auto client = std::make_unique<SocketClient>(server_.port());
    client->send(post("/v1/completions", body.dump()));
    return client;
  }
  void expect_idle_within_a_second() {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(server_.becomes_idle());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
  }

  TestServer server_{{}, one_at_a_time()};
};

TEST_F(Departure, FromTheQueueLeavesNothingBehind) {
  auto first = ask_for(completion("a", 200'000));
  wait_until([&] { return server_.stats().num_running == 1; });
  auto second = ask_for(completion(std::string(3000, 'b'), 200'000));
  wait_until([&] { return server_.stats().num_waiting == 1; });
  second.reset();
  wait_until([&] { return server_.stats().num_waiting == 0; });
  first.reset();
  expect_idle_within_a_second();
}

TEST_F(Departure, DuringThePromptLeavesNothingBehind) {
  auto client = ask_for(completion(std::string(60'000, 'c'), 10));
  wait_until([&] { return server_.stats().num_running == 1; });
  client.reset();
  expect_idle_within_a_second();
  EXPECT_LT(server_.stats().num_blocks_cached, 60'000U / 16) << "the prompt was computed to its end";
}

TEST_F(Departure, DuringTheAnswerLeavesNothingBehind) {
  Body body = completion("d", 200'000);
  body["stream"] = true;
  auto client = ask_for(body);
  EXPECT_THAT(client->receive_some(), HasSubstr("200 OK"));
  client.reset();
  expect_idle_within_a_second();
}

// Sixteen tenants with a word of their own each: what one is told depends on that word alone.
TEST(Canaries, OfSixteenTenantsAtOnceStayWithTheirOwners) {
  constexpr std::size_t kTenants = 16;
  const testing::TempDir temp;
  store::KeyStore store(temp.path() / "state");
  ServerOptions options;
  options.keys = &store;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kTenants; ++i)
    keys.push_back(bearer(store.create("tenant", store::KeyRole::kUser).text));
  const auto body_of = [](std::size_t tenant) {
    return completion("the canary of this tenant is " + std::string(40, static_cast<char>('A' + tenant)), 80);
  };
  const auto text = [](const WireAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["choices"][0]["text"].get<std::string>();
  };
  std::vector<std::string> alone;
  {
    const TestServer server(options);
    for (std::size_t i = 0; i < kTenants; ++i)
      alone.push_back(text(complete(server, body_of(i), keys[i])));
  }
  engine::EngineConfig scarce = TestServer::default_engine();
  scarce.kv_memory_bytes = std::size_t{600} << 10U;
  const TestServer server(options, scarce);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < kTenants; ++i) {
    clients.emplace_back([&, i] {
      for (int round = 0; round < 4; ++round)
        EXPECT_EQ(text(complete(server, body_of(i), keys[i])), alone[i]) << i;
    });
  }
  for (std::thread& client : clients)
    client.join();
  EXPECT_GT(server.stats().num_preemptions, 0U) << "the blocks were not scarce";
}

// A character of several bytes that the end cuts, and bytes that are none: never bytes that a client can't read.
TEST(TextOut, IsAlwaysUtf8AndTheSameStreamed) {
  const TestServer server;
  for (const auto& [byte, max_tokens] :
       std::vector<std::pair<const char*, int>>{{"240", 1}, {"240", 3}, {"192", 5}, {"128", 2}}) {
    Body body = completion("a", max_tokens);
    body["logit_bias"] = {{byte, 100}};
    const WireAnswer whole = complete(server, body);
    ASSERT_EQ(whole.status, 200);
    const Body choice = whole.json()["choices"][0];
    EXPECT_THAT(choice["text"].get<std::string>(), HasSubstr("\xEF\xBF\xBD")) << byte;
    EXPECT_EQ(choice["finish_reason"], "length");
    body["stream"] = true;
    std::string joined;
    for (const std::string& event : complete(server, body).events()) {
      if (event != "[DONE]") joined += Body::parse(event)["choices"][0]["text"].get<std::string>();
    }
    EXPECT_EQ(joined, choice["text"].get<std::string>()) << byte;
  }
}

}  // namespace
}  // namespace vitrine::server
