#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"
#include "server/trace_store.h"
#include "store/key_store.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr const char* kHello = R"({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 8)";

std::string request_id(const WireAnswer& answer) {
  const std::size_t begin = answer.head.find("x-request-id: ") + 14;
  return answer.head.substr(begin, answer.head.find('\r', begin) - begin);
}

std::string trace_path(const WireAnswer& answer) {
  return "/v1/requests/" + request_id(answer) + "/trace";
}

std::string chat(const std::string& more, const std::string& headers = "") {
  return post("/v1/chat/completions", kHello + more + "}", headers);
}

std::set<std::string> span_names(const nlohmann::json& trace) {
  std::set<std::string> names;
  for (const auto& span : trace.at("spans"))
    names.insert(span.at("name"));
  return names;
}

TEST(RequestTraces, EachStageOfAnAnswerHasItsSpans) {
  const TestServer server;
  for (const char* more : {"", R"(, "stream": true)", R"(, "stop": ["a", "e", "i", "o"])"}) {
    const WireAnswer answer = ask(server.port(), chat(more));
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_TRUE(server.becomes_idle());
    const auto trace = ask(server.port(), get(trace_path(answer))).json();
    EXPECT_THAT(span_names(trace), IsSupersetOf({"wait_for_worker", "parse", "wait_for_model", "template", "tokenize",
                                                 "queue", "prefill", "detokenize", "delivery", "write"}));
    EXPECT_EQ(trace.at("id"), request_id(answer));
    EXPECT_EQ(trace.at("model"), "tiny");
    EXPECT_EQ(trace.at("finish_reasons").size(), 1U);
    EXPECT_GT(trace.at("usage").at("prompt_tokens"), 0);
    const double wall_s = trace.at("wall_s");
    EXPECT_LT(trace.at("unaccounted_s"), wall_s);
    for (const auto& span : trace.at("spans")) {
      EXPECT_GE(span.at("start_s"), 0.0) << span;
      EXPECT_GE(span.at("end_s"), span.at("start_s")) << span;
      EXPECT_LE(span.at("start_s"), wall_s) << span;
    }
  }
}

TEST(RequestTraces, ComeAsAChromeTraceToo) {
  const TestServer server;
  const WireAnswer answer = ask(server.port(), chat(""));
  const WireAnswer trace = ask(server.port(), get(trace_path(answer) + "?format=chrome"));
  ASSERT_EQ(trace.status, 200);
  EXPECT_THAT(trace.body, HasSubstr("\"prefill\""));
  EXPECT_EQ(ask(server.port(), get(trace_path(answer) + "?format=svg")).status, 400);
}

double sum_of_parts(const nlohmann::json& report) {
  double sum = report.at("unaccounted_s");
  for (const auto& [stage, part_s] : report.at("parts").items())
    sum += part_s.get<double>();
  return sum;
}

TEST(RequestTraces, PartsSumToTheWallTimeInTheAnswerToo) {
  const TestServer server;
  for (const char* more : {"", R"(, "n": 3, "stop": ["a"])", R"(, "logprobs": true)"}) {
    const WireAnswer answer = ask(server.port(), chat(more));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto timings = answer.json().at("timings");
    EXPECT_NEAR(sum_of_parts(timings), timings.at("wall_s"), 1e-9);
    const auto trace = ask(server.port(), get(trace_path(answer))).json();
    EXPECT_NEAR(sum_of_parts(trace), trace.at("wall_s"), 1e-9);
    EXPECT_GT(trace.at("wall_s"), timings.at("wall_s"));
    for (const char* stage : {"queue", "template", "tokenize", "lookup", "prefill", "sample"}) {
      EXPECT_TRUE(trace.at("parts").contains(stage)) << stage;
      EXPECT_TRUE(timings.at("parts").contains(stage)) << stage;
    }
    EXPECT_TRUE(trace.at("parts").contains("socket"));
  }
}

TEST(RequestTraces, ALongAnswersEndIsKept) {
  const TestServer server({}, TestServer::patient_engine());
  const std::string body = R"({"prompt": "hi", "max_tokens": 600, "ignore_eos": true, "stream": true})";
  const WireAnswer answer = ask(server.port(), post("/v1/completions", body));
  ASSERT_EQ(answer.status, 200);
  const auto trace = ask(server.port(), get(trace_path(answer))).json();
  EXPECT_EQ(trace.at("usage").at("completion_tokens"), 600);
  EXPECT_EQ(span_names(trace).count("end"), 1U);
  EXPECT_NEAR(sum_of_parts(trace), trace.at("wall_s"), 1e-9);
  EXPECT_LT(trace.at("parts").at("decode"), trace.at("wall_s"));
}

TEST(RequestTraces, OfSeveralChoicesAreOneAfterTheOther) {
  const TestServer server;
  const WireAnswer answer = ask(server.port(), chat(R"(, "n": 4, "stop": ["e"])"));
  ASSERT_EQ(answer.status, 200);
  const auto trace = ask(server.port(), get(trace_path(answer))).json();
  double end_s = 0.0;
  for (const auto& span : trace.at("spans")) {
    if (span.at("stage") != "decode" && span.at("stage") != "sample") continue;
    EXPECT_GE(span.at("start_s"), end_s - 1e-9) << span;
    end_s = span.at("end_s");
  }
}

TEST(Requests, AreListedNewestOrSlowestFirst) {
  const TestServer server;
  std::vector<std::string> ids;
  for (const int max_tokens : {1, 30, 2}) {
    const std::string body =
        R"({"prompt": "hi", "ignore_eos": true, "max_tokens": )" + std::to_string(max_tokens) + "}";
    ids.push_back(request_id(ask(server.port(), post("/v1/completions", body))));
  }
  const auto newest = ask(server.port(), get("/v1/requests")).json().at("requests");
  ASSERT_EQ(newest.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(newest[i].at("id"), ids[2 - i]);
  EXPECT_EQ(newest[0].at("completion_tokens"), 2);
  EXPECT_EQ(newest[0].at("endpoint"), "/v1/completions");
  EXPECT_EQ(newest[0].at("finish_reasons"), nlohmann::json({"length"}));
  EXPECT_GT(newest[0].at("ended"), 1'700'000'000);
  EXPECT_GT(newest[0].at("wall_s"), newest[0].at("ttft_s"));
  const auto slowest = ask(server.port(), get("/v1/requests?slow=1&limit=2")).json().at("requests");
  ASSERT_EQ(slowest.size(), 2U);
  EXPECT_GE(slowest[0].at("wall_s"), slowest[1].at("wall_s"));
  for (const char* query : {"?slow=2", "?limit=0", "?limit=1000", "?limit=x", "?fast=1", "?slow=1&slow=1"})
    EXPECT_EQ(ask(server.port(), get(std::string("/v1/requests") + query)).status, 400) << query;
}

TEST(RequestTraces, AreForWhoeverAskedAndForAdmins) {
  const testing::TempDir temp;
  store::KeyStore keys(temp.path());
  ServerOptions options;
  options.keys = &keys;
  const std::string mine = keys.create("mine", store::KeyRole::kUser).text;
  const std::string other = keys.create("other", store::KeyRole::kUser).text;
  const std::string admin = keys.create("admin", store::KeyRole::kAdmin).text;
  const TestServer server(std::move(options));
  const WireAnswer answer = ask(server.port(), chat("", bearer(mine)));
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(ask(server.port(), get(trace_path(answer), bearer(mine))).status, 200);
  EXPECT_EQ(ask(server.port(), get(trace_path(answer), bearer(admin))).status, 200);
  EXPECT_EQ(ask(server.port(), get(trace_path(answer))).status, 401);
  const WireAnswer foreign = ask(server.port(), get(trace_path(answer), bearer(other)));
  const WireAnswer unknown = ask(server.port(), get("/v1/requests/none/trace", bearer(mine)));
  EXPECT_EQ(foreign.status, 404);
  EXPECT_EQ(foreign.body, unknown.body);
  EXPECT_EQ(unknown.json().at("error").at("code"), "request_not_found");
  const auto num_listed = [&](const std::string& key) {
    return ask(server.port(), get("/v1/requests", bearer(key))).json().at("requests").size();
  };
  EXPECT_EQ(num_listed(mine), 1U);
  EXPECT_EQ(num_listed(admin), 1U);
  EXPECT_EQ(num_listed(other), 0U);
}

std::unique_ptr<RequestTrace> trace_of(std::int64_t wall_ns) {
  auto trace = std::make_unique<RequestTrace>();
  trace->timeline().finish_at(wall_ns);
  return trace;
}

TraceStore::Entry entry(std::size_t i, std::int64_t wall_ns) {
  return {.id = std::to_string(i), .tenant = "", .model = "", .trace = trace_of(wall_ns)};
}

TEST(TraceStore, KeepsTheLastAndOfThoseBeforeTheSlowest) {
  constexpr std::size_t kNumAll = TraceStore::kMaxTraces + 2 * TraceStore::kMaxSlow;
  TraceStore store;
  // The even ones of the early half are slow.
  for (std::size_t i = 0; i < kNumAll; ++i)
    store.add(entry(i, i % 2 == 0 ? 1'000'000 + static_cast<std::int64_t>(i) : 1'000));
  EXPECT_NE(store.find("0"), nullptr);
  EXPECT_EQ(store.find("1"), nullptr);
  ASSERT_NE(store.find(std::to_string(kNumAll - 1)), nullptr);
  EXPECT_EQ(store.newest().size(), TraceStore::kMaxTraces);
  EXPECT_EQ(store.newest().front()->id, std::to_string(kNumAll - 1));
  EXPECT_EQ(store.slowest().size(), TraceStore::kMaxTraces + TraceStore::kMaxSlow);
  EXPECT_EQ(store.slowest().front()->id, std::to_string(kNumAll - 2));
}

TEST(TraceStore, ForgetsWhatWasSlowLongAgo) {
  TraceStore store;
  const auto start = std::chrono::steady_clock::now();
  store.add(entry(0, 1'000'000'000), start);
  for (std::size_t i = 1; i <= TraceStore::kMaxTraces; ++i)
    store.add(entry(i, 1'000), start);
  EXPECT_NE(store.find("0"), nullptr);
  store.add(entry(1000, 1'000), start + TraceStore::kSlowAge + std::chrono::seconds(1));
  EXPECT_EQ(store.find("0"), nullptr);
}

TEST(TraceStore, ItsMemoryIsBounded) {
  TraceStore store;
  for (std::size_t i = 0; i < 2 * TraceStore::kMaxTraces; ++i) {
    TraceStore::Entry large = entry(i, 1'000);
    large.trace = std::make_unique<RequestTrace>();
    for (std::size_t span = 0; span < 2 * RequestTrace::kMaxSpans; ++span) {
      large.trace->timeline().begin(trace::Stage::kOther);
      large.trace->engine_timeline()->record(trace::Stage::kDecode, {0, 1});
    }
    large.trace->finish();
    store.add(std::move(large));
  }
  std::size_t num_bytes = 0;
  for (const TraceStore::Entry* kept : store.slowest())
    num_bytes += kept->size_bytes();
  EXPECT_GT(num_bytes, TraceStore::kMaxBytes / 2);
  EXPECT_LE(num_bytes, TraceStore::kMaxBytes + TraceStore::kMaxSlowBytes);
}

}  // namespace
}  // namespace vitrine::server
