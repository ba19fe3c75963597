#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"
#include "store/key_store.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using Document = nlohmann::json;
using store::KeyRole;
using ::testing::HasSubstr;

class Admin : public ::testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions all;
    all.keys = &store_;
    all.plans = {{"free", {.requests_per_minute = 2, .models = {"tiny"}}}, {"open", {}}};
    return all;
  }

  WireAnswer call(const std::string& method, const std::string& path, const Document& body = Document::object()) {
    const std::string text = body.dump();
    return ask(server_->port(), fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                            "Content-Length: {}\r\n{}\r\n{}",
                                            method, path, text.size(), bearer(key_), text));
  }
  WireAnswer read(const std::string& path) { return ask(server_->port(), get(path, bearer(key_))); }
  int models_with(const std::string& key) { return ask(server_->port(), get("/v1/models", bearer(key))).status; }

  testing::TempDir temp_;
  store::KeyStore store_{temp_.path() / "state"};
  std::string key_ = store_.create("boss", KeyRole::kAdmin).text;
  std::unique_ptr<TestServer> server_ = std::make_unique<TestServer>(options());
};

TEST_F(Admin, AKeyLivesFromItsCreationToItsRevocation) {
  const WireAnswer made = call("POST", "/v1/admin/keys", {{"name", "laptop"}});
  EXPECT_EQ(made.status, 201) << made.body;
  const std::string id = made.json()["id"];
  EXPECT_EQ(made.json()["name"], "laptop");
  EXPECT_EQ(made.json()["role"], "user");
  EXPECT_EQ(models_with(made.json()["key"]), 200);

  const WireAnswer rotated = call("POST", "/v1/admin/keys/" + id + "/rotate");
  EXPECT_EQ(rotated.status, 200) << rotated.body;
  EXPECT_EQ(rotated.json()["id"], id);
  EXPECT_EQ(models_with(made.json()["key"]), 401);
  EXPECT_EQ(models_with(rotated.json()["key"]), 200);

  const WireAnswer revoked = call("POST", "/v1/admin/keys/" + id + "/revoke");
  EXPECT_EQ(revoked.status, 200) << revoked.body;
  EXPECT_TRUE(revoked.json()["revoked"].is_number());
  EXPECT_EQ(models_with(rotated.json()["key"]), 401);
  EXPECT_EQ(call("POST", "/v1/admin/keys/" + id + "/rotate").status, 400) << "the dead stay dead";
}

TEST_F(Admin, TheListShowsLimitsAndUseButNoSecret) {
  const WireAnswer made =
      call("POST", "/v1/admin/keys",
           {{"name", "ci"}, {"role", "admin"}, {"limits", {{"requests_per_minute", 5}, {"models", {"tiny"}}}}});
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string key = made.json()["key"];
  const Document prompt = {{"prompt", "abc"}, {"max_tokens", 4}, {"ignore_eos", true}};
  ASSERT_EQ(ask(server_->port(), post("/v1/completions", prompt.dump(), bearer(key))).status, 200);

  const WireAnswer listed = read("/v1/admin/keys");
  EXPECT_EQ(listed.status, 200) << listed.body;
  const Document row = listed.json()["keys"][1];
  EXPECT_EQ(row["id"], made.json()["id"]);
  EXPECT_EQ(row["role"], "admin");
  EXPECT_EQ(row["last_characters"], key.substr(key.size() - 4));
  EXPECT_TRUE(row["created"].is_number());
  EXPECT_TRUE(row["revoked"].is_null());
  EXPECT_EQ(row["limits"], Document({{"requests_per_minute", 5}, {"models", {"tiny"}}}));
  EXPECT_EQ(row["now"]["running"], 0);
  EXPECT_EQ(row["now"]["requests_last_minute"], 1);
  const int tokens = row["now"]["tokens_last_minute"];
  EXPECT_GT(tokens, 4);
  EXPECT_EQ(row["now"]["tokens_today"], tokens);
  EXPECT_EQ(row["now"]["tokens_this_month"], tokens);
  EXPECT_EQ(listed.body.find(key), std::string::npos);
  EXPECT_EQ(listed.body.find(key.substr(12, 43)), std::string::npos);
}

TEST_F(Admin, LimitsChangeOneByOneAndNullRemovesOne) {
  const std::string id = call("POST", "/v1/admin/keys", {{"name", "ci"}}).json()["id"];
  const std::string path = "/v1/admin/keys/" + id + "/limits";
  const auto set = [&](const Document& body) { return call("PATCH", path, body).json()["limits"]; };
  EXPECT_EQ(set({{"tokens_per_day", 1000}, {"priority", -3}}), Document({{"tokens_per_day", 1000}, {"priority", -3}}));
  EXPECT_EQ(set({{"max_concurrent", 2}, {"priority", nullptr}}),
            Document({{"tokens_per_day", 1000}, {"max_concurrent", 2}}));
  EXPECT_EQ(set({{"models", {"b", "a", "b"}}})["models"], Document({"a", "b"}));
  EXPECT_EQ(set({{"models", nullptr}, {"tokens_per_day", nullptr}}), Document({{"max_concurrent", 2}}));
  EXPECT_EQ(set(Document::object()), Document({{"max_concurrent", 2}}));
  EXPECT_EQ(store_.list()[1].limits.max_concurrent, 2);
}

TEST_F(Admin, AKeyFollowsItsPlanButForItsOwnLimits) {
  EXPECT_EQ(read("/v1/admin/plans").json()["plans"],
            Document({{{"name", "free"}, {"limits", {{"requests_per_minute", 2}, {"models", {"tiny"}}}}},
                      {{"name", "open"}, {"limits", Document::object()}}}));
  const Document made =
      call("POST", "/v1/admin/keys", {{"name", "ci"}, {"limits", {{"plan", "free"}, {"priority", 5}}}}).json();
  const Document row = read("/v1/admin/keys").json()["keys"][1];
  EXPECT_EQ(row["limits"], Document({{"priority", 5}, {"plan", "free"}}));
  EXPECT_EQ(row["effective_limits"],
            Document({{"requests_per_minute", 2}, {"priority", 5}, {"models", {"tiny"}}, {"plan", "free"}}));
  const std::string key = made["key"];
  const auto tokenize = [&] {
    return ask(server_->port(), post("/tokenize", R"({"prompt": "a"})", bearer(key))).status;
  };
  EXPECT_EQ(tokenize(), 200);
  EXPECT_EQ(tokenize(), 200);
  EXPECT_EQ(tokenize(), 429);
  const std::string limits = "/v1/admin/keys/" + made["id"].get<std::string>() + "/limits";
  EXPECT_EQ(call("PATCH", limits, {{"requests_per_minute", 100}}).status, 200);
  EXPECT_EQ(tokenize(), 200);
  EXPECT_EQ(call("PATCH", limits, {{"plan", nullptr}, {"requests_per_minute", nullptr}}).json()["limits"],
            Document({{"priority", 5}}));
  EXPECT_EQ(tokenize(), 200);
}

TEST_F(Admin, APlanThatIsNotThereIsRefusedAndClosesWhatItWouldLimit) {
  const auto refusal = [&](const Document& plan) {
    const WireAnswer answer = call("POST", "/v1/admin/keys", {{"name", "ci"}, {"limits", {{"plan", plan}}}});
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.json()["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refusal("gold"), HasSubstr("plan: no plan of this server; there are free, open"));
  EXPECT_THAT(refusal(5), HasSubstr("plan: must be the name of a plan"));
  const store::NewKey user = store_.create("ci", KeyRole::kUser, {.plan = "gold"});
  const WireAnswer answer = ask(server_->port(), get("/v1/models", bearer(user.text)));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.json()["error"]["code"], "plan_unknown");
  EXPECT_THAT(
      answer.json()["error"]["message"].get<std::string>(),
      HasSubstr("add a table [plans.gold] and start it again, or give the key another with `vitrine keys limits " +
                user.info.id));
  EXPECT_TRUE(read("/v1/admin/keys").json()["keys"][1]["effective_limits"].is_null());
  const store::NewKey admin = store_.create("second", KeyRole::kAdmin, {.plan = "gold"});
  EXPECT_EQ(models_with(admin.text), 403);
  EXPECT_EQ(ask(server_->port(), get("/v1/admin/keys", bearer(admin.text))).status, 200) << "to set it right";
}

TEST_F(Admin, WhatIsWrongIsRefusedByName) {
  const auto refusal = [&](const std::string& method, const std::string& path, const Document& body) {
    const WireAnswer answer = call(method, path, body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.json()["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refusal("POST", "/v1/admin/keys", Document::object()), HasSubstr("name"));
  EXPECT_THAT(refusal("POST", "/v1/admin/keys", {{"name", "a\nb"}}), HasSubstr("control characters"));
  EXPECT_THAT(refusal("POST", "/v1/admin/keys", {{"name", "a"}, {"role", "root"}}), HasSubstr("role"));
  EXPECT_THAT(refusal("POST", "/v1/admin/keys", {{"name", "a"}, {"limit", 1}}), HasSubstr("limit"));
  const std::string limits = "/v1/admin/keys/" + store_.list()[0].id + "/limits";
  EXPECT_THAT(refusal("PATCH", limits, {{"tokens_per_day", 0}}), HasSubstr("tokens_per_day: must be from 1"));
  EXPECT_THAT(refusal("PATCH", limits, {{"tokens_per_day", "5"}}), HasSubstr("tokens_per_day: must be a whole number"));
  EXPECT_THAT(refusal("PATCH", limits, {{"tokens_per_day", 1.5}}), HasSubstr("tokens_per_day: must be a whole number"));
  EXPECT_THAT(refusal("PATCH", limits, {{"tokens_per_day", UINT64_MAX}}), HasSubstr("tokens_per_day"));
  EXPECT_THAT(refusal("PATCH", limits, {{"priority", 101}}), HasSubstr("from -100 to 100"));
  EXPECT_THAT(refusal("PATCH", limits, {{"models", "tiny"}}), HasSubstr("models"));
  EXPECT_THAT(refusal("PATCH", limits, {{"tokens_per_week", 5}}), HasSubstr("no limit"));
  EXPECT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(store_.list()[0].limits, store::KeyLimits{});
}

TEST_F(Admin, AnUnknownKeyIsNotFound) {
  for (const char* path :
       {"/v1/admin/keys/00000000/rotate", "/v1/admin/keys/00000000/revoke", "/v1/admin/keys/'%20OR%201=1/revoke"}) {
    const WireAnswer answer = call("POST", path);
    EXPECT_EQ(answer.status, 404) << answer.body;
    EXPECT_THAT(answer.json()["error"]["message"].get<std::string>(), HasSubstr("no key has this id"));
  }
  EXPECT_EQ(call("PATCH", "/v1/admin/keys/00000000/limits").status, 404);
}

TEST_F(Admin, UsageIsThatOfTheLedger) {
  const Document prompt = {{"prompt", "abc"}, {"max_tokens", 4}, {"ignore_eos", true}};
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(ask(server_->port(), post("/v1/completions", prompt.dump(), bearer(key_))).status, 200);
  const std::string id = store_.list()[0].id;
  const Document row = read("/v1/admin/usage").json()["rows"][0];
  EXPECT_EQ(row["key"], id);
  EXPECT_EQ(row["name"], "boss");
  EXPECT_EQ(row["requests"], 2);
  EXPECT_EQ(row["completion_tokens"], 8);
  EXPECT_TRUE(row["currency"].is_null());
  EXPECT_EQ(read("/v1/admin/usage?by=model").json()["rows"][0]["model"], "tiny");
  EXPECT_EQ(read("/v1/admin/usage?by=day&key=" + id).json()["rows"].size(), 1U);
  EXPECT_EQ(read("/v1/admin/usage?key=00000000").json()["rows"].size(), 0U);
  EXPECT_EQ(read("/v1/admin/usage?from=1999-01-01&to=1999-12-31").json()["rows"].size(), 0U);
  for (const char* query : {"by=week", "from=yesterday", "to=2025-02-29", "by=key&by=day", "until=2025-01-01"})
    EXPECT_EQ(read(std::string("/v1/admin/usage?") + query).status, 400) << query;
}

TEST_F(Admin, IsForAdminsAlone) {
  const std::string user = store_.create("user", KeyRole::kUser).text;
  for (const char* path : {"/v1/admin/keys", "/v1/admin/usage"}) {
    EXPECT_EQ(ask(server_->port(), get(path, bearer(user))).status, 403) << path;
    EXPECT_EQ(ask(server_->port(), get(path)).status, 401) << path;
  }
  EXPECT_EQ(ask(server_->port(), post("/v1/admin/keys", R"({"name": "mine"})", bearer(user))).status, 403);
}

TEST(OpenServer, ShowsButDoesNotChangeKeys) {
  const testing::TempDir temp;
  store::KeyStore store(temp.path() / "state");
  ServerOptions options;
  options.keys = &store;
  const TestServer server(options);
  EXPECT_EQ(ask(server.port(), get("/v1/admin/keys")).json()["keys"], Document::array());
  EXPECT_EQ(ask(server.port(), get("/v1/admin/usage")).status, 200);
  const WireAnswer answer = ask(server.port(), post("/v1/admin/keys", R"({"name": "mine"})"));
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(answer.json()["error"]["message"].get<std::string>(), HasSubstr("vitrine keys create NAME --admin"));
  EXPECT_TRUE(store.list().empty());
}

}  // namespace
}  // namespace vitrine::server
