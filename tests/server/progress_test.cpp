#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using Chunk = nlohmann::json;

engine::EngineConfig one_at_a_time() {
  engine::EngineConfig config = TestServer::patient_engine();
  config.max_sequences = 1;
  config.max_chunk_tokens = 32;
  config.place_interval = std::chrono::milliseconds(0);
  return config;
}

class ProgressEvents : public ::testing::Test {
 protected:
  static Chunk body(const Chunk& more) {
    Chunk body = {{"temperature", 0},
                  {"max_tokens", 8},
                  {"stream", true},
                  {"stream_options", {{"include_progress", true}, {"include_usage", true}}},
                  {"ignore_eos", true}};
    body.update(more);
    return body;
  }
  static Chunk chat(const std::string& content) {
    return body({{"messages", {{{"role", "user"}, {"content", content}}}}});
  }
  std::vector<Chunk> events_of(const std::string& path, const Chunk& body) {
    const WireAnswer answer = ask(server_.port(), post(path, body.dump()));
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<Chunk> events;
    for (const std::string& event : answer.events()) {
      if (event != "[DONE]") events.push_back(Chunk::parse(event));
    }
    return events;
  }
  static std::vector<Chunk> progress_of(const std::vector<Chunk>& events) {
    std::vector<Chunk> all;
    for (const Chunk& event : events) {
      if (event.contains("progress")) all.push_back(event["progress"]);
    }
    return all;
  }
  // Reads until `text` has come; what came is in the answer.
  static std::string receive_until(SocketClient& client, const std::string& text) {
    std::string seen;
    while (seen.find(text) == std::string::npos) {
      const std::string more = client.receive_some();
      if (more.empty()) break;
      seen += more;
    }
    return seen;
  }

  TestServer server_{{}, one_at_a_time()};
};

TEST_F(ProgressEvents, SayHowMuchOfThePromptIsComputed) {
  const std::vector<Chunk> events = events_of("/v1/chat/completions", chat(std::string(300, 'x')));
  EXPECT_EQ(events.front()["choices"][0]["delta"]["role"], "assistant");
  const std::size_t prompt_tokens = events.back()["usage"]["prompt_tokens"];
  std::size_t done = 0;
  bool has_text = false;
  for (const Chunk& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], events.front()["id"]);
    if (event.contains("progress")) {
      EXPECT_FALSE(has_text) << "progress after text";
      EXPECT_TRUE(event["choices"].empty());
      EXPECT_TRUE(event["usage"].is_null());
      const Chunk& progress = event["progress"];
      EXPECT_EQ(progress["state"], "prefill");
      EXPECT_EQ(progress["tokens"], prompt_tokens);
      EXPECT_EQ(progress["cached_tokens"], 0);
      EXPECT_GE(progress["tokens_done"], done);
      done = progress["tokens_done"];
    } else {
      has_text = has_text || (!event["choices"].empty() && event["choices"][0]["delta"]["content"] != "");
    }
  }
  EXPECT_EQ(done, prompt_tokens);
  EXPECT_TRUE(has_text);
}

TEST_F(ProgressEvents, CountWhatWasCachedAsDone) {
  events_of("/v1/chat/completions", chat(std::string(300, 'x')));
  const std::vector<Chunk> events = events_of("/v1/chat/completions", chat(std::string(300, 'x')));
  const std::size_t cached = events.back()["usage"]["prompt_tokens_details"]["cached_tokens"];
  EXPECT_GT(cached, 250U);
  const Chunk progress = progress_of(events).back();
  EXPECT_EQ(progress["cached_tokens"], cached);
  EXPECT_EQ(progress["tokens_done"], progress["tokens"]);
}

TEST_F(ProgressEvents, SayHowManyAreAheadUntilTheTurnComes) {
  engine::Request endless;
  endless.prompt = {1};
  endless.ignore_eos = true;
  // To the engine itself: nobody reads its tokens, so it never pauses and gives its place to others.
  const auto running = server_.engine().submit(endless, [](const engine::TokenEvent&) {});
  ASSERT_TRUE(running);
  while (server_.stats().num_running == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  SocketClient second(server_.port());
  second.send(post("/v1/completions", body({{"prompt", "b"}}).dump()));
  EXPECT_THAT(receive_until(second, "progress"), HasSubstr(R"("progress":{"index":0,"state":"queued","position":0})"));
  SocketClient third(server_.port());
  third.send(post("/v1/completions", body({{"prompt", "c"}}).dump()));
  EXPECT_THAT(receive_until(third, "progress"), HasSubstr(R"("state":"queued","position":1)"));
  const Chunk live = Chunk::parse(ask(server_.port(), get("/v1/admin/live")).body);
  EXPECT_EQ(live["requests"].size(), 2U);
  server_.engine().abort(*running);
  const std::string rest = receive_until(third, "[DONE]");
  EXPECT_THAT(rest, HasSubstr(R"("state":"prefill")"));
  EXPECT_THAT(rest, HasSubstr("[DONE]"));
  EXPECT_TRUE(server_.becomes_idle());
}

TEST_F(ProgressEvents, AreOfTheFirstChoiceOfEachPrompt) {
  const std::vector<Chunk> events =
      events_of("/v1/completions", body({{"prompt", {"first", "second"}}, {"n", 2}, {"temperature", 1}}));
  std::set<int> indexes;
  for (const Chunk& progress : progress_of(events))
    indexes.insert(progress["index"].get<int>());
  EXPECT_EQ(indexes, (std::set<int>{0, 2}));
}

TEST_F(ProgressEvents, ChangeNothingOfTheAnswer) {
  const auto text_of = [](const std::vector<Chunk>& events) {
    std::string text;
    for (const Chunk& event : events) {
      for (const Chunk& choice : event["choices"])
        text += choice["text"];
    }
    return text;
  };
  const auto told = events_of("/v1/completions", body({{"prompt", std::string(100, 'y')}}));
  const auto untold = events_of(
      "/v1/completions", body({{"prompt", std::string(100, 'y')}, {"stream_options", {{"include_progress", false}}}}));
  EXPECT_FALSE(progress_of(told).empty());
  EXPECT_TRUE(progress_of(untold).empty());
  EXPECT_EQ(text_of(told), text_of(untold));
}

}  // namespace
}  // namespace vitrine::server
