#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"
#include "support/memory_use.h"
#include "support/reference_data.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class Completion : public ::testing::Test {
 protected:
  WireAnswer chat(const Json& more, const std::string& content = "hello") {
    return ask("/v1/chat/completions", chat_body(more, content));
  }
  WireAnswer complete(Json body) {
    body.emplace("temperature", 0);
    return ask("/v1/completions", body);
  }
  WireAnswer ask(const std::string& path, const Json& body) {
    return server::ask(server_.port(), post(path, body.dump()));
  }

  static Json chat_body(const Json& more, const std::string& content = "hello") {
    Json body = {{"model", "tiny"},
                 {"temperature", 0},
                 {"max_tokens", 24},
                 {"ignore_eos", true},
                 {"messages", {{{"role", "user"}, {"content", content}}}}};
    if (!more.is_null()) body.update(more);
    return body;
  }
  // The text of a stream, and what is to hold for every stream.
  static std::string joined(const WireAnswer& answer) {
    std::string text;
    const auto events = answer.events();
    EXPECT_EQ(events.back(), "[DONE]");
    for (const std::string& event : events) {
      if (event == "[DONE]") continue;
      const Json parsed = Json::parse(event);
      for (const Json& choice : parsed["choices"])
        text += choice.contains("delta") ? choice["delta"]["content"].get<std::string>()
                                         : choice["text"].get<std::string>();
    }
    return text;
  }

  TestServer server_;
};

TEST_F(Completion, AStreamHoldsTheTextOfTheWholeAnswer) {
  const WireAnswer whole = chat({});
  ASSERT_EQ(whole.status, 200) << whole.body;
  const Json answer = whole.json();
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 24);
  EXPECT_FALSE(answer.contains("warnings"));
  const WireAnswer streamed = chat({{"stream", true}});
  EXPECT_THAT(streamed.head, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_EQ(answer["choices"][0]["message"]["content"], joined(streamed));
}

TEST_F(Completion, AStreamedTextIsWholeAsWell) {
  const std::string whole = complete({{"prompt", "hello"}}).json()["choices"][0]["text"];
  EXPECT_EQ(joined(complete({{"prompt", "hello"}, {"stream", true}})), whole);
}

TEST_F(Completion, AStreamBeginsWithTheRoleAndNoDeltaLacksItsContent) {
  const auto events = chat({{"stream", true}, {"stream_options", {{"include_usage", true}}}}).events();
  EXPECT_EQ(Json::parse(events.front())["choices"][0]["delta"]["role"], "assistant");
  for (std::size_t i = 0; i + 2 < events.size(); ++i) {
    const Json event = Json::parse(events[i]);
    EXPECT_TRUE(event["choices"][0]["delta"]["content"].is_string());
    EXPECT_TRUE(event["usage"].is_null());
  }
  const Json last = Json::parse(events[events.size() - 2]);
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_EQ(last["usage"]["completion_tokens"], 24);
}

TEST_F(Completion, EachOfSeveralChoicesEndsOnce_bug066) {
  const auto events = chat({{"n", 3}, {"stream", true}, {"temperature", 1}, {"seed", 5}}).events();
  std::map<int, int> ends;
  std::map<int, std::string> texts;
  for (const std::string& event : events) {
    if (event == "[DONE]") continue;
    const Json parsed = Json::parse(event);
    for (const Json& choice : parsed["choices"]) {
      ends[choice["index"]] += choice["finish_reason"].is_null() ? 0 : 1;
      texts[choice["index"]] += choice["delta"]["content"];
    }
  }
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(ends, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_NE(texts[0], texts[1]) << "choices of one seed must differ";
  const Json whole = chat({{"n", 3}, {"temperature", 1}, {"seed", 5}}).json();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(whole["choices"][i]["message"]["content"], texts[i]);
  EXPECT_EQ(whole["usage"]["completion_tokens"], 72);
  testing::count_cases("bugs", 1);
}

TEST_F(Completion, SaysWhyAPromptWasNotCached) {
  std::string content(200, 'x');
  EXPECT_EQ(chat({}, content).json()["prefix_cache"]["reason"], "not_cached");
  EXPECT_EQ(chat({}, content).json()["prefix_cache"]["reason"], "all_full_blocks_cached");
  content[100] = 'y';
  const Json prefix = chat({}, content).json()["prefix_cache"];
  EXPECT_EQ(prefix["reason"], "token_differs");
  EXPECT_EQ(prefix["cached_text"], "x");
  EXPECT_EQ(prefix["requested_text"], "y");
  EXPECT_GE(prefix["position"], prefix["cached_tokens"]);
  const auto events = chat({{"stream", true}}, content).events();
  EXPECT_EQ(Json::parse(events[events.size() - 2])["prefix_cache"]["reason"], "all_full_blocks_cached");
}

TEST_F(Completion, UsageCountsWhatWasCachedAlikeWithAndWithoutStreaming_bug060) {
  const std::string content(200, 'x');
  const Json first = chat({}, content).json()["usage"];
  const Json second = chat({}, content).json()["usage"];
  EXPECT_EQ(first["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_GT(second["prompt_tokens_details"]["cached_tokens"], 100);
  EXPECT_EQ(first["prompt_tokens"], second["prompt_tokens"]);
  const auto events = chat({{"stream", true}, {"stream_options", {{"include_usage", true}}}}, content).events();
  EXPECT_EQ(Json::parse(events[events.size() - 2])["usage"], second);
  testing::count_cases("bugs", 1);
}

TEST_F(Completion, AsManyTokensAsAskedFor_bug058) {
  for (const int wanted : {0, 1, 2, 3}) {
    const Json answer = complete({{"prompt", "hello"}, {"max_tokens", wanted}, {"ignore_eos", true}}).json();
    EXPECT_EQ(answer["usage"]["completion_tokens"], wanted);
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  }
  testing::count_cases("bugs", 1);
}

TEST_F(Completion, EchoPutsThePromptFirst) {
  EXPECT_EQ(complete({{"prompt", "hello"}, {"max_tokens", 0}, {"echo", true}}).json()["choices"][0]["text"], "hello");
  const std::string plain = complete({{"prompt", "hello"}}).json()["choices"][0]["text"];
  EXPECT_EQ(complete({{"prompt", "hello"}, {"echo", true}}).json()["choices"][0]["text"], "hello" + plain);
  EXPECT_EQ(joined(complete({{"prompt", "hello"}, {"echo", true}, {"stream", true}})), "hello" + plain);
}

TEST_F(Completion, SeveralPromptsAreAnsweredInTheirOrder) {
  const Json one = complete({{"prompt", "first"}}).json();
  const Json two = complete({{"prompt", "second"}}).json();
  const Json both = complete({{"prompt", {"first", "second"}}}).json();
  EXPECT_EQ(both["choices"][0]["text"], one["choices"][0]["text"]);
  EXPECT_EQ(both["choices"][1]["text"], two["choices"][0]["text"]);
  EXPECT_EQ(both["usage"]["prompt_tokens"], 11);
  const Json by_ids = complete({{"prompt", {{102, 105, 114, 115, 116}, {115, 101, 99, 111, 110, 100}}}}).json();
  EXPECT_EQ(by_ids["choices"], both["choices"]);
}

TEST_F(Completion, TextEndsBeforeAStopStringHoweverItIsStreamed) {
  const std::string text = chat({{"max_tokens", 100}}).json()["choices"][0]["message"]["content"];
  const std::string stop = text.substr(text.find("word", 40), 6);  // such as "word30"
  const Json answer = chat({{"max_tokens", 100}, {"stop", {stop}}}).json();
  EXPECT_EQ(answer["choices"][0]["message"]["content"], text.substr(0, text.find(stop)));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_LT(answer["usage"]["completion_tokens"], 100);
  EXPECT_EQ(joined(chat({{"max_tokens", 100}, {"stop", stop}, {"stream", true}})), text.substr(0, text.find(stop)));
  EXPECT_TRUE(server_.becomes_idle());
}

TEST_F(Completion, LogprobsComeWithTheirTokensInBothWays) {
  const Json whole = chat({{"logprobs", true}, {"top_logprobs", 2}}).json()["choices"][0]["logprobs"]["content"];
  EXPECT_EQ(whole.size(), 24U);
  EXPECT_EQ(whole[0]["top_logprobs"].size(), 2U);
  Json streamed = Json::array();
  for (const std::string& event : chat({{"logprobs", true}, {"top_logprobs", 2}, {"stream", true}}).events()) {
    if (event == "[DONE]") continue;
    const Json choice = Json::parse(event)["choices"][0];
    if (choice["logprobs"].is_null()) continue;
    for (const Json& entry : choice["logprobs"]["content"])
      streamed.push_back(entry);
  }
  EXPECT_EQ(streamed, whole);
  EXPECT_TRUE(chat({{"logprobs", true}}).json()["choices"][0]["logprobs"]["content"][0]["top_logprobs"].empty());
  EXPECT_TRUE(chat({}).json()["choices"][0]["logprobs"].is_null());
}

TEST_F(Completion, AnswersAreTheSameAmongManyNeighbours) {
  std::vector<std::string> alone;
  for (int i = 0; i < 8; ++i)
    alone.push_back(chat({}, std::string(static_cast<std::size_t>(1 + 40 * i), static_cast<char>('a' + i)))
                        .json()["choices"][0]["message"]["content"]);
  std::vector<std::future<std::string>> together;
  for (int i = 0; i < 32; ++i) {
    together.push_back(std::async(std::launch::async, [this, i] {
      const int which = i % 8;
      const std::string content(static_cast<std::size_t>(1 + 40 * which), static_cast<char>('a' + which));
      return joined(chat({{"stream", true}}, content));
    }));
  }
  for (std::size_t i = 0; i < together.size(); ++i)
    EXPECT_EQ(together[i].get(), alone[i % 8]) << i;
}

TEST_F(Completion, RefusalsNameTheFieldAndLeaveTheServerWell) {
  const auto refusal = [&](const WireAnswer& answer) {
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.json()["error"];
  };
  EXPECT_EQ(refusal(chat({{"messages", Json::array()}}))["param"], "messages");
  EXPECT_EQ(refusal(chat({{"messages", {{{"role", "user"}, {"content", {{{"type", "image_url"}}}}}}}}))["param"],
            "messages[0].content");
  EXPECT_EQ(refusal(chat({{"chat_template_kwargs", {{"tokenize", true}}}}))["param"], "chat_template_kwargs");
  EXPECT_EQ(refusal(chat({{"logit_bias", {{"191222", -100}}}}))["code"], "invalid_value");
  EXPECT_EQ(refusal(chat({}, std::string(5000, 'x')))["code"], "context_length_exceeded");
  for (const Json& prompt : {Json(""), Json::array(), Json({-1}), Json({1 << 20}), Json({{}}), Json(5), Json({"a", 5})})
    EXPECT_EQ(refusal(complete({{"prompt", prompt}}))["param"], "prompt") << prompt;
  EXPECT_EQ(refusal(complete({{"prompt", "a"}, {"echo", true}, {"logprobs", 1}}))["param"], "logprobs");
  const Json missing = chat({{"model", "../../etc/passwd"}}).json()["error"];
  EXPECT_EQ(missing["code"], "model_not_found");
  EXPECT_EQ(missing["message"], "model: not served here; there is tiny");
  EXPECT_EQ(chat({{"model", "alias"}}).status, 200);
  EXPECT_TRUE(server_.becomes_idle());
}

TEST_F(Completion, UnknownFieldsAndAdviceBecomeWarnings) {
  const Json answer = chat({{"n_discard", -1}, {"top_k", 5}, {"top_p", 0.5}, {"temperature", 0.5}}).json();
  ASSERT_GE(answer["warnings"].size(), 2U);
  EXPECT_THAT(answer["warnings"][0].get<std::string>(), HasSubstr("n_discard"));
  const auto events =
      chat({{"stream", true}, {"stream_options", {{"include_usage", true}, {"include_usages", true}}}}).events();
  const Json last = Json::parse(events.at(events.size() - 3));  // before the usage and [DONE]
  EXPECT_THAT(last["warnings"][0].get<std::string>(), HasSubstr("stream_options.include_usages"));
}

TEST_F(Completion, AClientThatLeavesTakesItsWorkAlong) {
  for (const bool streamed : {true, false}) {
    {
      SocketClient client(server_.port());
      client.send(post("/v1/chat/completions", chat_body({{"stream", streamed}, {"max_tokens", 4000}}).dump()));
      if (streamed) {
        client.receive_some();
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
    EXPECT_TRUE(server_.becomes_idle()) << "streamed: " << streamed;
  }
}

// The time of an operation that is over must not end what waits after it.
TEST(Patience, ALateDepartureIsSeenToo) {
  ServerOptions options;
  options.limits.body_time = options.limits.write_time = std::chrono::seconds(1);
  const TestServer server(options, TestServer::patient_engine());
  {
    SocketClient client(server.port());
    client.send(post("/v1/completions", R"({"prompt": "a", "max_tokens": 200000, "ignore_eos": true})"));
    std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    EXPECT_GT(server.stats().num_running, 0U) << "the answer ended too early for this test";
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST_F(Completion, ManyClientsThatLeaveAtAnyMomentLeaveNothingBehind) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 25; ++j) {
        SocketClient client(server_.port());
        client.send(post("/v1/chat/completions",
                         chat_body({{"stream", j % 2 == 0}, {"max_tokens", 2000}}, std::string(500, 'y')).dump()));
        std::this_thread::sleep_for(std::chrono::microseconds(700 * ((i * 25 + j) % 30)));
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_TRUE(server_.becomes_idle());
  EXPECT_EQ(chat({}).status, 200);
}

TEST(Crowd, AThousandStreamsAllEndAndCostLittleEach) {
  constexpr std::size_t kStreams = 1000;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2 * kStreams + 100) GTEST_SKIP() << "no room for two thousand descriptors";
  const TestServer server;
  const std::size_t before = testing::memory_use_bytes();
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (std::size_t i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<SocketClient>(server.port()));
    const Json body = {{"prompt", fmt::format("stream {}", i % 10)},
                       {"max_tokens", 8},
                       {"temperature", 0},
                       {"ignore_eos", true},
                       {"stream", true}};
    clients.back()->send(post("/v1/completions", body.dump()));
  }
  std::map<std::size_t, std::string> texts;
  for (std::size_t i = 0; i < kStreams; ++i) {
    const WireAnswer answer = clients[i]->receive();
    const auto events = answer.events();
    ASSERT_FALSE(events.empty()) << i << ": " << answer.head << answer.body;
    ASSERT_EQ(events.back(), "[DONE]") << i;
    std::string text;
    for (std::size_t j = 0; j + 1 < events.size(); ++j)
      text += Json::parse(events[j])["choices"][0]["text"];
    EXPECT_EQ(texts.emplace(i % 10, text).first->second, text) << i;
  }
  EXPECT_LT(testing::grown_bytes(before), kStreams * (std::size_t{64} << 10U));
}

TEST_F(Completion, StoppingLetsAnswersEnd) {
  SocketClient client(server_.port());
  // The connection ends with the answer, also where that came before the server was told to stop.
  client.send(
      post("/v1/chat/completions", chat_body({{"stream", true}, {"max_tokens", 200}}).dump(), "Connection: close\r\n"));
  std::string answer = client.receive_some();
  const std::jthread stopping([&] { server_.stop(); });
  for (std::string more = client.receive_some(); !more.empty(); more = client.receive_some())
    answer += more;
  EXPECT_THAT(answer, HasSubstr("data: [DONE]"));
}

TEST_F(Completion, AClientOfHttp10GetsEventsUntilTheEndOfTheConnection) {
  const std::string body = chat_body({{"stream", true}}).dump();
  const WireAnswer answer = server::ask(
      server_.port(),
      fmt::format(
          "POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
          body.size(), body));
  EXPECT_EQ(chat({}).json()["choices"][0]["message"]["content"], joined(answer));
}

TEST_F(Completion, TextAndTokensConvert) {
  const Json tokens = ask("/tokenize", {{"prompt", "hé"}}).json();
  EXPECT_EQ(tokens["tokens"], Json({104, 195, 169}));
  EXPECT_EQ(ask("/detokenize", {{"tokens", tokens["tokens"]}}).json()["prompt"], "hé");
  EXPECT_EQ(ask("/detokenize", {{"tokens", {100000}}}).status, 400);
  const Json messages = {{{"role", "user"}, {"content", "hi"}}};
  EXPECT_EQ(ask("/apply-template", {{"messages", messages}}).json()["prompt"],
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(ask("/tokenize", {{"messages", messages}}).json()["count"],
            chat({}, "hi").json()["usage"]["prompt_tokens"]);
}

TEST_F(Completion, MetricsCountWhatHappened) {
  chat({{"stream", true}});
  chat({{"n", 2}, {"temperature", 1}});
  chat({{"model", "nope"}});
  const WireAnswer answer = server::ask(server_.port(), get("/metrics"));
  EXPECT_THAT(answer.head, HasSubstr("text/plain; version=0.0.4"));
  for (const char* line : {"vllm:generation_tokens_total{model_name=\"tiny\"} 72\n",
                           "vllm:time_to_first_token_seconds_count{model_name=\"tiny\"} 2\n",
                           "vllm:inter_token_latency_seconds_count{model_name=\"tiny\"} 46\n",
                           "vllm:request_success_total{finished_reason=\"length\",model_name=\"tiny\"} 3\n",
                           "vllm:num_requests_running{model_name=\"tiny\"} 0\n",
                           "vitrine_http_responses_total{path=\"/v1/chat/completions\",status=\"200\"} 2\n",
                           "vitrine_http_responses_total{path=\"/v1/chat/completions\",status=\"404\"} 1\n"})
    EXPECT_THAT(answer.body, HasSubstr(line));
}

TEST(Strict, UnknownFieldsAreRefused) {
  ServerOptions options;
  options.strict = true;
  const TestServer server(options);
  const WireAnswer answer = ask(server.port(), post("/tokenize", R"({"prompt": "a", "unknown": 1})"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.json()["error"]["param"], "unknown");
  const Json body = {{"prompt", "a"}, {"stream", true}, {"stream_options", {{"unknown", 1}}}};
  const WireAnswer inner = ask(server.port(), post("/v1/completions", body.dump()));
  EXPECT_EQ(inner.status, 400);
  EXPECT_EQ(inner.json()["error"]["param"], "stream_options.unknown");
}

TEST(ScarceBlocks, AllAnswersComeAndAreTheSame) {
  engine::EngineConfig config = TestServer::default_engine();
  config.kv_memory_bytes = std::size_t{600} << 10U;
  const TestServer scarce({}, config);
  const TestServer plenty;
  const auto answer_of = [](const TestServer& server, int i) {
    const Json body = {{"prompt", std::string(static_cast<std::size_t>(30 + 7 * i), static_cast<char>('a' + i))},
                       {"max_tokens", 300},
                       {"temperature", 0},
                       {"ignore_eos", true}};
    return ask(server.port(), post("/v1/completions", body.dump())).json()["choices"][0]["text"].get<std::string>();
  };
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 16; ++i)
    answers.push_back(std::async(std::launch::async, answer_of, std::cref(scarce), i));
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get(), answer_of(plenty, i)) << i;
  EXPECT_GT(scarce.stats().num_preemptions, 0U) << "the pool was not scarce";
}

}  // namespace
}  // namespace vitrine::server
