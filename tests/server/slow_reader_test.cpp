#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using Body = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::size_t kNumTokens = 6000;

std::string request(bool streamed, std::size_t max_tokens = kNumTokens) {
  const Body body = {{"prompt", "once upon"},
                     {"max_tokens", max_tokens},
                     {"temperature", 0},
                     {"ignore_eos", true},
                     {"stream", streamed}};
  return post("/v1/completions", body.dump());
}

// Waits until the engine computes no more; the number of its steps then.
std::size_t steps_at_rest(const TestServer& server) {
  std::size_t before = 0;
  for (int i = 0; i < 200; ++i) {
    const std::size_t now = server.stats().num_steps;
    if (now == before && now > 0) return now;
    before = now;
    std::this_thread::sleep_for(200ms);
  }
  ADD_FAILURE() << "the engine goes on and on";
  return 0;
}

std::string text_of(const WireAnswer& streamed) {
  std::string text;
  const auto events = streamed.events();
  EXPECT_EQ(events.back(), "[DONE]");
  for (std::size_t i = 0; i + 1 < events.size(); ++i)
    text += Body::parse(events[i])["choices"][0]["text"];
  return text;
}

// Cuts off who takes nothing for so long.
ServerOptions impatient(std::chrono::seconds patience = 1s) {
  ServerOptions options;
  options.limits.write_time = patience;
  return options;
}

TEST(SlowReader, PausesItsAnswerAndLosesNothing) {
  const TestServer server({}, TestServer::patient_engine());
  const std::string whole = ask(server.port(), request(false)).json()["choices"][0]["text"];
  const std::size_t before = server.stats().num_steps;
  SocketClient reader(server.port());
  reader.send(request(true));
  const std::size_t num_steps = steps_at_rest(server) - before;
  EXPECT_GT(num_steps, 100U);
  EXPECT_LT(num_steps, kNumTokens / 2) << "tokens that nobody reads are made and kept";
  EXPECT_EQ(text_of(reader.receive()), whole);
  EXPECT_TRUE(server.becomes_idle());
}

TEST(SlowReader, LeavesItsPlaceToOthers) {
  engine::EngineConfig config = TestServer::patient_engine();
  config.max_sequences = 1;
  const TestServer server({}, config);
  SocketClient reader(server.port());
  reader.send(request(true));
  steps_at_rest(server);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask(server.port(), request(false, 50)).json()["usage"]["completion_tokens"], 50);
  EXPECT_THAT(reader.receive().body, HasSubstr("[DONE]")) << "and goes on when they have ended";
}

TEST(SlowReader, IsCutOffWhenItTakesNothingForLong) {
  const TestServer server(impatient(), TestServer::patient_engine());
  SocketClient reader(server.port());
  reader.send(request(true, 100'000));
  steps_at_rest(server);
  EXPECT_TRUE(server.becomes_idle()) << "its blocks are still taken";
  EXPECT_EQ(reader.receive().body.find("[DONE]"), std::string::npos);
  EXPECT_EQ(ask(server.port(), request(false, 5)).status, 200);
}

TEST(SlowReader, ThatTakesALittleNowAndThenIsNotCutOff) {
  const TestServer server(impatient(3s), TestServer::patient_engine());
  // A kernel that holds megabytes says for seconds nothing of what was taken.
  SocketClient reader(server.port(), 32 * 1024);
  reader.send(request(true, 100'000));
  for (int i = 0; i < 8; ++i) {
    ASSERT_NE(reader.receive_some(), "") << i;
    std::this_thread::sleep_for(500ms);
  }
  EXPECT_FALSE(server.stats().num_running + server.stats().num_waiting == 0);
}

TEST(SlowReader, OfAWholeAnswerIsCutOffToo) {
  const TestServer server(impatient());
  SocketClient reader(server.port());
  std::string many;
  for (int i = 0; i < 40'000; ++i)
    many += get("/v1/models");
  std::thread sending([&] { reader.send(many); });
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(reader.is_closed());
  sending.join();
  EXPECT_EQ(ask(server.port(), get("/health")).status, 200);
}

}  // namespace
}  // namespace vitrine::server
