#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/line_writer.h"
#include "server/request_log.h"
#include "server/server_fixture.h"
#include "store/key_store.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using LogDocument = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

std::string text_of(const std::filesystem::path& path) {
  std::string text;
  for (const std::string& line : lines_of(path))
    text += line + "\n";
  return text;
}

class Log : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return temp_.path() / "server.log"; }
  ServerOptions options(LogFormat format = LogFormat::kJson) {
    ServerOptions all;
    all.keys = &store_;
    all.log = {format, path()};
    return all;
  }
  // The requests of a server that has ended.
  std::vector<LogDocument> requests() const {
    std::vector<LogDocument> all;
    for (const std::string& line : lines_of(path())) {
      LogDocument json = LogDocument::parse(line);
      if (json["event"] == "request") all.push_back(std::move(json));
    }
    return all;
  }
  // A server that takes these requests, one after the other, and ends.
  std::vector<WireAnswer> serve(const ServerOptions& options, const std::vector<std::string>& requests) {
    TestServer server(options);
    std::vector<WireAnswer> answers;
    answers.reserve(requests.size());
    for (const std::string& request : requests)
      answers.push_back(ask(server.port(), request));
    return answers;
  }

  testing::TempDir temp_;
  store::KeyStore store_{temp_.path() / "state"};
};

std::string completion(std::string_view prompt, std::string_view headers, bool is_streamed = false) {
  const LogDocument body = {{"prompt", prompt}, {"max_tokens", 5}, {"ignore_eos", true}, {"stream", is_streamed}};
  return post("/v1/completions", body.dump(), headers);
}

TEST_F(Log, AnAnswerIsALineWithItsKeyItsTokensAndItsTimes) {
  const store::NewKey key = store_.create("laptop", store::KeyRole::kUser);
  const auto answers =
      serve(options(), {completion("abc", bearer(key.text)), completion("abc", bearer(key.text), true)});
  const auto lines = requests();
  ASSERT_EQ(lines.size(), 2U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const LogDocument& line = lines[i];
    EXPECT_THAT(line["time"].get<std::string>(), MatchesRegex("....-..-..T..:..:..[.]...Z"));
    EXPECT_EQ(line["level"], "info");
    EXPECT_THAT(answers[i].head, HasSubstr("x-request-id: " + line["request_id"].get<std::string>()));
    EXPECT_EQ(line["method"], "POST");
    EXPECT_EQ(line["route"], "/v1/completions");
    EXPECT_EQ(line["status"], 200);
    EXPECT_EQ(line["key_id"], key.info.id);
    EXPECT_EQ(line["model"], "tiny");
    EXPECT_GT(line["prompt_tokens"], 0);
    EXPECT_EQ(line["completion_tokens"], 5);
    EXPECT_EQ(line["finish_reason"], "length");
    EXPECT_GE(line["total_s"], line["ttft_s"]);
    EXPECT_GE(line["ttft_s"], line["queue_s"]);
    EXPECT_FALSE(line.contains("error"));
    EXPECT_FALSE(line.contains("path"));
  }
}

TEST_F(Log, BeginsAndEndsWithTheServer) {
  serve(options(), {get("/v1/models")});
  const auto lines = lines_of(path());
  ASSERT_EQ(lines.size(), 3U);
  const auto start = LogDocument::parse(lines.front());
  EXPECT_EQ(start["event"], "start");
  EXPECT_EQ(start["models"], LogDocument({"tiny"}));
  EXPECT_EQ(start["keys"], 0);
  const auto stop = LogDocument::parse(lines.back());
  EXPECT_EQ(stop["event"], "stop");
  EXPECT_EQ(stop["reason"], "asked");
  EXPECT_EQ(stop["open_requests"], 0);
}

TEST_F(Log, NeitherPromptsNorAnswersNorKeysStandInIt) {
  const store::NewKey key = store_.create("laptop", store::KeyRole::kUser);
  std::string wrong = key.text;
  wrong.back() = wrong.back() == 'a' ? 'b' : 'a';
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    const auto answers =
        serve(options(format), {completion("xylophone", bearer(key.text)), completion("xylophone", bearer(wrong)),
                                completion("xylophone", ""), get("/v1/" + key.text), get("/v1/models?key=" + key.text),
                                post("/v1/completions", "{\"prompt\": xylophone", bearer(key.text))});
    const std::string log = text_of(path());
    EXPECT_THAT(log, HasSubstr(key.info.id));
    EXPECT_THAT(log, Not(HasSubstr("xylophone")));
    EXPECT_THAT(log, Not(HasSubstr(key.text.substr(12, 20))));
    const std::string answer = answers[0].json()["choices"][0]["text"];
    if (answer.size() > 3) {
      EXPECT_THAT(log, Not(HasSubstr(answer)));
    }
  }
}

TEST_F(Log, ARefusalSaysWhy) {
  const store::NewKey user = store_.create("laptop", store::KeyRole::kUser);
  const std::string long_body(100'000, 'x');
  const auto answers = serve(options(), {get("/v1/models"), get("/v1/admin/keys", bearer(user.text)), get("/v1/model"),
                                         post("/v1/completions", "{}", bearer(user.text)), "GET / HTTP/1.1\r\n\r\n",
                                         post("/v1/completions", long_body)});
  const auto lines = requests();
  ASSERT_EQ(lines.size(), answers.size());
  const std::vector<std::pair<int, std::string>> wanted = {{401, "invalid_api_key"},   {403, "admin_key_needed"},
                                                           {404, "not_found"},         {400, "missing_field"},
                                                           {400, "malformed_request"}, {401, "invalid_api_key"}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(lines[i]["status"], wanted[i].first) << lines[i];
    EXPECT_EQ(lines[i]["error"], wanted[i].second) << lines[i];
    EXPECT_EQ(lines[i]["level"], "warn");
    EXPECT_THAT(answers[i].head, HasSubstr("x-request-id: " + lines[i]["request_id"].get<std::string>()));
  }
  EXPECT_EQ(lines[2]["route"], "other");
  EXPECT_EQ(lines[2]["path"], "/v1/model");
}

TEST_F(Log, NoPathForgesALine) {
  const std::string forged = "{\"event\":\"request\",\"status\":200}";
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    std::filesystem::remove(path());
    serve(options(format), {"GET /a%0A" + forged + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
                            "GET /a\n" + forged + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
                            "GET /a\x1b[2J\x7f\xc2\x85\xe2\x80\xa8 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                            "GET /a=b\"c HTTP/1.1\r\nHost: localhost\r\n\r\n"});
    EXPECT_EQ(lines_of(path()).size(), 6U) << text_of(path());
    for (const char c : text_of(path()))
      EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7F)) << static_cast<int>(c);
  }
}

TEST(RequestLog, EveryByteOfAPathIsEscapedWhereItMustBe) {
  const testing::TempDir temp;
  const std::filesystem::path path = temp.path() / "log";
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes += static_cast<char>(byte);
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    ServerLog log({format, path});
    log_request(log, {.request_id = "req-1", .method = "GET\n", .path = bytes.substr(0, 128), .status = 404});
    log_request(log, {.request_id = "req-2", .method = "GET", .path = bytes.substr(128), .status = 404});
  }
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(LogDocument::parse(lines[0])["path"], bytes.substr(0, 128));
  EXPECT_THAT(lines[2], HasSubstr(R"(method="GET\n" route=other path="\u0000)"));
}

TEST_F(Log, ProbesOfHealthAreLeftOut) {
  serve(options(), {get("/health"), get("/metrics"), post("/health", "{}")});
  const auto lines = requests();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["route"], "/metrics");
  EXPECT_EQ(lines[1]["status"], 405);
}

TEST_F(Log, AClientThatWentAwayIsToldApart) {
  {
    TestServer server(options(), TestServer::patient_engine());
    const LogDocument body = {{"prompt", "a"}, {"max_tokens", 200000}, {"ignore_eos", true}};
    for (const bool is_streamed : {false, true}) {
      LogDocument request = body;
      request["stream"] = is_streamed;
      SocketClient client(server.port());
      client.send(post("/v1/completions", request.dump()));
      if (is_streamed) client.receive_some();
      while (server.stats().num_running == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_TRUE(server.becomes_idle());
  }
  const auto lines = requests();
  ASSERT_EQ(lines.size(), 2U);
  for (const LogDocument& line : lines) {
    EXPECT_EQ(line["error"], "client_gone");
    EXPECT_EQ(line["finish_reason"], "abort");
    EXPECT_EQ(line["level"], "warn");
  }
  EXPECT_EQ(std::min(lines[0]["status"].get<int>(), lines[1]["status"].get<int>()), 200);
  EXPECT_EQ(std::max(lines[0]["status"].get<int>(), lines[1]["status"].get<int>()), 499);
}

TEST_F(Log, ItsFileMayBeMovedAwayWhileTheServerRuns) {
  {
    const TestServer server(options());
    ask(server.port(), get("/v1/models"));
    while (lines_of(path()).size() < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::filesystem::rename(path(), path().string() + ".1");
    ask(server.port(), get("/metrics"));
  }
  EXPECT_EQ(lines_of(path().string() + ".1").size(), 2U);
  EXPECT_EQ(lines_of(path()).size(), 2U) << "the request after that, and the end";
}

TEST_F(Log, AFileThatCanNotBeMadeIsNamedAtTheStart) {
  ServerOptions wrong = options();
  wrong.log.path = temp_.path() / "no folder" / "log";
  try {
    const TestServer server(wrong);
    FAIL() << "it started";
  } catch (const base::Exception& exception) {
    EXPECT_EQ(exception.error().kind, base::ErrorKind::kIo);
    EXPECT_THAT(exception.what(), HasSubstr("no folder/log: No such file or directory"));
  }
}

std::optional<LogDocument> find_event(const std::filesystem::path& file, const std::string& event) {
  for (const std::string& line : lines_of(file)) {
    // The last line may not be whole yet.
    if (auto document = LogDocument::parse(line, nullptr, false);
        !document.is_discarded() && document["event"] == event)
      return document;
  }
  return std::nullopt;
}

// A full disk, as far as this process is concerned.
TEST_F(Log, AFullDiskCostsLinesAndNothingElse) {
  const TestServer server(options());
  ask(server.port(), get("/v1/models"));
  while (lines_of(path()).size() < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  // Which lines fall into the time of the full disk is the writer's affair; in the end some do.
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  std::optional<LogDocument> loss;
  while (!loss && Clock::now() < deadline) {
    std::filesystem::remove(path());
    std::filesystem::create_symlink("/dev/full", path());
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(ask(server.port(), get("/v1/models")).status, 200);
    std::filesystem::remove(path());
    EXPECT_EQ(ask(server.port(), get("/v1/models")).status, 200);
    const auto patience = Clock::now() + std::chrono::milliseconds(200);
    while (!loss && Clock::now() < patience)
      loss = find_event(path(), "lines_lost");
  }
  ASSERT_TRUE(loss);
  EXPECT_GE((*loss)["lines"], 1);
}

// A pipe that is full, or whose reader has gone. A descriptor of its own, as standard error would be.
class PipeOfLines {
 public:
  PipeOfLines() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~PipeOfLines() {
    close_reader();
    ::close(ends_[1]);
  }
  PipeOfLines(const PipeOfLines&) = delete;
  PipeOfLines& operator=(const PipeOfLines&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", ends_[1]); }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  std::string read_some() const {
    std::array<char, 1 << 16> bytes{};
    const ssize_t got = ::read(ends_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

std::string note_lost(std::size_t num_lines) {
  return fmt::format("lost {}\n", num_lines);
}

TEST(LineWriter, NeverMakesItsCallersWaitForASlowReader) {
  const PipeOfLines pipe;
  const auto began = Clock::now();
  {
    LineWriter writer(pipe.path(), note_lost);
    for (int i = 0; i < 20'000; ++i)
      writer.write(std::string(99, 'x') + "\n");
  }
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(10)) << "nor their end for long";
  const std::string taken = pipe.read_some();
  EXPECT_EQ(taken.substr(taken.size() - 2), "x\n") << "whole lines alone";
}

TEST(LineWriter, SaysHowManyLinesWereLost) {
  const PipeOfLines pipe;
  LineWriter writer(pipe.path(), note_lost);
  for (int i = 0; i < 20'000; ++i)
    writer.write(std::string(99, 'x') + "\n");
  std::string all;
  for (int i = 0; i < 1000 && all.find("lost ") == std::string::npos; ++i)
    all += pipe.read_some();
  EXPECT_NE(all.find("lost "), std::string::npos);
}

TEST(LineWriter, OutlivesTheReaderOfItsPipe) {
  PipeOfLines pipe;
  LineWriter writer(pipe.path(), note_lost);
  pipe.close_reader();
  for (int i = 0; i < 100; ++i)
    writer.write("a line\n");
}

}  // namespace
}  // namespace vitrine::server
