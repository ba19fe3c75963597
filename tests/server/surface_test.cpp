#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"
#include "store/api_key.h"
#include "store/key_store.h"
#include "support/memory_use.h"
#include "support/soak.h"
#include "support/temp_dir.h"

// What the server shows to whoever reaches it, and what that may cost.
namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Body = nlohmann::json;

TEST(Browser, AForeignPageIsGivenNoLeave) {
  const TestServer server;
  for (const char* origin : {"null", "http://evil.com", "http://localhost:1"}) {
    const WireAnswer answer = ask(server.port(), get("/v1/models", fmt::format("Origin: {}\r\n", origin)));
    EXPECT_THAT(answer.head, Not(HasSubstr("ccess-control-"))) << origin;
    EXPECT_THAT(answer.head, Not(HasSubstr("ccess-Control-"))) << origin;
    const WireAnswer preflight =
        ask(server.port(), fmt::format("OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\n"
                                       "Access-Control-Request-Method: POST\r\n\r\n",
                                       origin));
    EXPECT_EQ(preflight.status, 405);
    EXPECT_THAT(preflight.head, Not(HasSubstr("ccess-Control-")));
  }
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"}) {
    const std::string request = fmt::format(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\nContent-Length: 14\r\n\r\n"
        "{{\"prompt\":\"a\"}}",
        type);
    EXPECT_EQ(ask(server.port(), request).status, 415) << type << " needs no leave to be sent";
  }
}

// Ports that this process listens on, by the kernel's tables.
std::set<std::string> listening_ports() {
  std::set<std::string> ports;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string index, local, remote, state;
      words >> index >> local >> remote >> state;
      if (state == "0A") ports.insert(local);
    }
  }
  return ports;
}

TEST(Surface, IsOnePortAndNoOtherProtocol) {
  std::set<std::string> opened;
  {
    const auto before = listening_ports();
    const TestServer server;
    for (const std::string& port : listening_ports()) {
      if (!before.contains(port)) opened.insert(port);
    }
    EXPECT_TRUE(std::ranges::any_of(
        opened, [&](const std::string& port) { return port.ends_with(fmt::format(":{:04X}", server.port())); }));
    for (const std::string& frame :
         {std::string("\0\0\0\x08\1\2\3\4", 8), std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
          std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11)}) {
      SocketClient client(server.port());
      client.send(frame + "\r\n\r\n");
      EXPECT_EQ(client.receive().status, 400);
      EXPECT_TRUE(client.is_closed());
    }
  }
}

TEST(Surface, AChunkOfManySmallOnesEndsAtTheLimitOfABody) {
  const TestServer server;
  std::string request =
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n";
  for (int i = 0; i < 500'000; ++i)
    request += "6\r\n      \r\n";
  EXPECT_EQ(ask(server.port(), request + "0\r\n\r\n").status, 400) << "3 MB of spaces are no JSON";
  std::string endless = request.substr(0, request.find("6\r\n"));
  for (int i = 0; i < 1'500'000; ++i)
    endless += "6\r\n      \r\n";
  EXPECT_EQ(ask(server.port(), endless).status, 413);
}

TEST(Surface, AConnectionTakesLittleMemoryBeforeItsKeyIsKnown) {
  constexpr std::size_t kConnections = 400;
  const testing::TempDir temp;
  store::KeyStore store(temp.path() / "state");
  store.create("laptop", store::KeyRole::kUser);
  ServerOptions options;
  options.keys = &store;
  const TestServer server(options);
  std::vector<std::unique_ptr<SocketClient>> clients;
  const auto fill = [&](const std::string& start) {
    clients.clear();
    for (std::size_t i = 0; i < kConnections; ++i) {
      clients.push_back(std::make_unique<SocketClient>(server.port()));
      clients.back()->send(start);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  fill("GET / HTTP/1.1\r\n");
  const std::size_t before = testing::memory_use_bytes();
  const std::string head = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  fill(head + "X: " + std::string(31'000, 'a'));
  EXPECT_LT(testing::grown_bytes(before), kConnections << 16U) << "heads";
  fill(head + "Content-Length: 16384\r\n\r\n" + std::string(16'000, ' '));
  EXPECT_LT(testing::grown_bytes(before), kConnections << 16U) << "bodies";
}

TEST(Surface, WrongSecretsOfTheSameIdAndPrefixAreAllTheSame) {
  const testing::TempDir temp;
  store::KeyStore store(temp.path() / "state");
  const std::string right = store.create("laptop", store::KeyRole::kUser).text;
  const std::string id = right.substr(3, 8);
  ServerOptions options;
  options.keys = &store;
  const TestServer server(options);
  std::set<std::string> answers;
  for (int i = 0; i < 20; ++i)
    answers.insert(ask(server.port(), get("/v1/models", bearer(store::make_api_key(id).text()))).body);
  answers.insert(ask(server.port(), get("/v1/models", bearer(store::make_api_key(store::make_key_id()).text()))).body);
  EXPECT_EQ(answers.size(), 1U) << "an id that exists is not told from one that does not";
  EXPECT_EQ(ask(server.port(), get("/v1/models", bearer(right))).status, 200);
}

TEST(Surface, NeitherKeysNorPromptsAreInTheLog) {
  const testing::TempDir temp;
  store::KeyStore store(temp.path() / "state");
  const std::string key = store.create("laptop", store::KeyRole::kUser).text;
  const std::string secret = key.substr(12);
  ServerOptions options;
  options.keys = &store;
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  {
    const TestServer server(options);
    EXPECT_EQ(ask(server.port(), get("/v1/models?api_key=" + key)).status, 401);
    EXPECT_EQ(ask(server.port(), get("/v1/" + key, bearer(key))).status, 404);
    EXPECT_EQ(
        ask(server.port(), post("/v1/completions", R"({"prompt": "a canary", "max_tokens": 2})", bearer(key))).status,
        200);
    EXPECT_EQ(ask(server.port(), post("/v1/completions", R"({"prompt": "a canary)", bearer(key))).status, 400);
    ask(server.port(), get("/x", "X: " + key + std::string(100'000, 'a') + "\r\n"));
  }
  const std::string log = ::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(log, Not(HasSubstr(secret)));
  EXPECT_THAT(log, Not(HasSubstr("canary")));
}

TEST(Growth, UniquePromptsLeaveNoMemoryBehind) {
  constexpr int kPromptsAtOnce = 20;
  const int num_prompts = testing::soak_count(1'000, 10'000);
  // What is kept of the last requests (traces, what an X-ray computes again) must be full before many are counted.
  const int num_before = testing::soak_count(500, 13'000);
  engine::EngineConfig config = TestServer::default_engine();
  config.kv_memory_bytes = std::size_t{1} << 20U;
  const TestServer server({}, config);
  SocketClient client(server.port());
  const auto ask_for = [&](int first, int last) {
    for (int i = first; i < last; i += kPromptsAtOnce) {
      Body body = {{"prompt", Body::array()}, {"max_tokens", 2}};
      for (int j = 0; j < kPromptsAtOnce; ++j)
        body["prompt"].push_back(fmt::format("{} {}", i + j, std::string(200, static_cast<char>('a' + i % 26))));
      client.send(post("/v1/completions", body.dump()));
      ASSERT_EQ(client.receive().status, 200);
    }
  };
  ask_for(0, num_before);
  const std::size_t before = testing::memory_use_bytes();
  ask_for(num_before, num_before + num_prompts);
  EXPECT_LT(testing::grown_bytes(before), std::size_t{2} << 20U);
}

}  // namespace
}  // namespace vitrine::server
