#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "server/server_fixture.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

ServerOptions impatient() {
  ServerOptions options;
  options.limits.head_time = options.limits.body_time = std::chrono::seconds(1);
  options.limits.idle_time = std::chrono::seconds(1);
  return options;
}

class Http : public ::testing::Test {
 protected:
  WireAnswer ask(std::string_view request) { return server::ask(server_.port(), request); }
  int status_of(std::string_view request) { return ask(request).status; }

  TestServer server_{impatient()};
};

TEST_F(Http, AnswersCarryTheirIdAndLength) {
  const WireAnswer answer = ask(get("/health"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json()["status"], "ok");
  EXPECT_THAT(answer.head, HasSubstr("x-request-id: req-"));
}

TEST_F(Http, AConnectionTakesOneRequestAfterTheOtherEvenWhenPipelined) {
  SocketClient client(server_.port());
  client.send(get("/health") + get("/v1/models") + get("/nothing"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.receive().json()["data"][0]["id"], "tiny");
  EXPECT_EQ(client.receive().status, 404);
  client.send(get("/health", "Connection: close\r\n"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, HeadHasNoBody) {
  SocketClient client(server_.port());
  client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/health"));
  std::string head = client.receive_some();
  EXPECT_THAT(head, HasSubstr("Content-Length: 16"));
  if (head.find("{\"status\"") == std::string::npos) head += client.receive_some();
  EXPECT_EQ(head.find("{\"status\""), head.rfind("{\"status\"")) << "one body, that of GET";
}

TEST_F(Http, AmbiguousFramingIsRefusedAndTheConnectionClosed) {
  const std::string start = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string chunk = "2\r\n{}\r\n0\r\n\r\n";
  for (const std::string& headers :
       {std::string("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"),
        std::string("Content-Length: 2\r\nContent-Length: 3\r\n"), std::string("Content-Length: +5\r\n"),
        std::string("Content-Length: 0x5\r\n"), std::string("Content-Length: -1\r\n"),
        std::string("Content-Length : 2\r\n"), std::string("Transfer-Encoding: xchunked\r\n"),
        std::string("Transfer-Encoding: gzip, chunked\r\n"), std::string("X: a\r\n folded\r\nContent-Length: 2\r\n"),
        std::string("Content-Length: 99999999999999999999999\r\n"),
        std::string("Host: other\r\nContent-Length: 2\r\n")}) {
    SocketClient client(server_.port());
    client.send(start + headers + "\r\n" + chunk + get("/health"));
    EXPECT_THAT(client.receive().status, ::testing::AnyOf(400, 413)) << headers;
    EXPECT_EQ(client.receive().status, 0) << "a second answer to " << headers;
  }
}

TEST_F(Http, MalformedRequestsAreRefused) {
  for (const char* bad : {"GET / HTTP/1.1\nHost: localhost\n\n", "GET /health\r\n\r\n", "NONSENSE\r\n\r\n",
                          "GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n", "GET /health HTTP/1.1\r\n\r\n",
                          "GET /he\x01lth HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n"})
    EXPECT_EQ(status_of(bad), 400) << bad;
}

TEST_F(Http, LongHeadsAndBodiesAreCutOff) {
  EXPECT_EQ(status_of(get("/health", "X: " + std::string(100'000, 'a') + "\r\n")), 431);
  EXPECT_EQ(status_of("GET /" + std::string(1'000'000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), 431);
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += fmt::format("X-{}: a\r\n", i);
  EXPECT_EQ(status_of(get("/health", many)), 431);
  EXPECT_EQ(status_of("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n"), 413);
  std::string chunked =
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n";
  for (int i = 0; i < 1'000; ++i)
    chunked += "4000\r\n" + std::string(0x4000, ' ') + "\r\n";
  EXPECT_EQ(status_of(chunked), 413);
}

TEST_F(Http, BodiesMayComeInChunks) {
  EXPECT_EQ(status_of("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"pro\r\nc\r\nmpt\": \"hello\r\n2\r\n\"}\r\n0\r\n\r\n"),
            200);
}

TEST_F(Http, TheBodyMustBePlainJson) {
  EXPECT_EQ(status_of(post("/tokenize", "{}", "Content-Encoding: gzip\r\n")), 415);
  EXPECT_EQ(status_of("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"), 415);
  EXPECT_EQ(
      status_of(
          "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"),
      415);
}

TEST_F(Http, AForeignNameIsRefused) {
  EXPECT_EQ(status_of("GET /health HTTP/1.1\r\nHost: evil.com\r\n\r\n"), 421);
  for (const char* host : {"x/?", "localhost/v1/models?", "a b", "a\\b", "ex\xC3\xA4mple"})
    EXPECT_EQ(status_of(fmt::format("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", host)), 400) << host;
  for (const char* host : {"localhost:8080", "127.0.0.1:1", "[::1]:8080", "localhost"})
    EXPECT_EQ(status_of(fmt::format("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", host)), 200) << host;
}

TEST_F(Http, SlowRequestsAreEnded) {
  SocketClient head(server_.port());
  SocketClient body(server_.port());
  SocketClient idle(server_.port());
  head.send("GET /health HTTP/1.1\r\nHost: loc");
  body.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{");
  idle.send(get("/health"));
  EXPECT_EQ(head.receive().status, 408);
  EXPECT_EQ(body.receive().status, 408);
  EXPECT_EQ(idle.receive().status, 200);
  EXPECT_TRUE(idle.is_closed()) << "nothing is said to a client that says nothing";
}

TEST_F(Http, AClientMayAskBeforeItSendsTheBody) {
  SocketClient client(server_.port());
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 16\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.receive_some(), HasSubstr("100 Continue"));
  client.send(R"({"prompt": "hi"})");
  EXPECT_EQ(client.receive().json()["count"], 2);
}

TEST(UnixSocket, ServesAndIsTakenAwayAtTheEnd) {
  const testing::TempDir folder;
  const std::string path = (folder.path() / "socket").string();
  ServerOptions options;
  options.unix_path = path;
  TestServer server(options);
  const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string request = get("/health", "Connection: close\r\n");
  ASSERT_EQ(::send(client, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  char answer[1024] = {};
  EXPECT_GT(::recv(client, answer, sizeof answer - 1, 0), 0);
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  ::close(client);
  server.stop();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

class StopOfServer : public ::testing::Test {
 protected:
  // What a client gets whose answer takes longer than the server waits when it is stopped.
  static std::string rest_of_answer(bool is_streamed) {
    ServerOptions hasty;
    hasty.grace = std::chrono::seconds(0);
    TestServer server(hasty, TestServer::patient_engine());
    SocketClient client(server.port());
    client.send(post(
        "/v1/completions",
        fmt::format(R"({{"prompt": "abc", "max_tokens": 200000, "ignore_eos": true, "stream": {}}})", is_streamed)));
    while (server.stats().num_steps == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::string rest = is_streamed ? client.receive_some() : "";
    server.stop();
    for (std::string some = client.receive_some(); !some.empty(); some = client.receive_some())
      rest += some;
    return rest;
  }
};

TEST_F(StopOfServer, AStreamThatItCutsSaysSoAndEnds) {
  const std::string rest = rest_of_answer(true);
  EXPECT_THAT(rest, HasSubstr("\"stopping\""));
  EXPECT_THAT(rest, Not(HasSubstr("[DONE]")));
  EXPECT_THAT(rest, EndsWith("\r\n0\r\n\r\n"));
}

TEST_F(StopOfServer, AnAnswerThatItCutsIsUnavailable) {
  const std::string rest = rest_of_answer(false);
  EXPECT_THAT(rest, HasSubstr("HTTP/1.1 503"));
  EXPECT_THAT(rest, HasSubstr("\"stopping\""));
}

TEST(Listening, ATakenPortIsUnavailable) {
  TestServer first;
  ServerOptions options;
  options.port = static_cast<unsigned short>(first.port());
  try {
    const Server second(options, {});
    FAIL() << "two servers on one port";
  } catch (const base::Exception& error) {
    EXPECT_EQ(error.error().kind, base::ErrorKind::kUnavailable);
    EXPECT_THAT(error.what(), HasSubstr("another program listens there"));
  }
}

TEST(Listening, OnlyTheLoopbackIsOpenWithoutKeys) {
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1"}) {
    ServerOptions options;
    options.host = host;
    try {
      const Server server(options, {});
      FAIL() << host;
    } catch (const base::Exception& error) {
      EXPECT_EQ(error.error().kind, base::ErrorKind::kConfig) << host;
    }
  }
}

}  // namespace
}  // namespace vitrine::server
