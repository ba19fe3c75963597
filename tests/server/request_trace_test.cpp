#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/request_trace.h"
#include "server/server_fixture.h"
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
}

TEST(RequestTraces, OnlyTheLastAreKept) {
  TraceStore store;
  for (std::size_t i = 0; i <= TraceStore::kMaxTraces; ++i)
    store.add({.id = std::to_string(i), .tenant = "", .model = "", .trace = std::make_unique<RequestTrace>()});
  EXPECT_EQ(store.find("0"), nullptr);
  ASSERT_NE(store.find("1"), nullptr);
  EXPECT_EQ(store.find("1")->id, "1");
}

}  // namespace
}  // namespace vitrine::server
