#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "server/access.h"
#include "server/api_error.h"
#include "server/route_table.h"
#include "server/server_fixture.h"
#include "store/api_key.h"
#include "store/key_store.h"
#include "support/soak.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using store::KeyRole;
using store::NewKey;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class Keys : public ::testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions all;
    all.keys = &store_;
    return all;
  }
  // A server whose answers can take many seconds.
  std::unique_ptr<TestServer> patient_server() {
    return std::make_unique<TestServer>(options(), TestServer::patient_engine());
  }
  static WireAnswer models(const TestServer& server, const std::string& headers) {
    return ask(server.port(), get("/v1/models", headers));
  }
  static std::string refusal(const WireAnswer& answer) {
    EXPECT_EQ(answer.status, 401) << answer.body;
    if (answer.status != 401) return "";
    const auto error = answer.json()["error"];
    EXPECT_EQ(error["type"], "authentication_error");
    EXPECT_EQ(error["code"], "invalid_api_key");
    EXPECT_THAT(answer.head, HasSubstr("www-authenticate: Bearer"));
    return error["message"];
  }
  static std::string long_request(const std::string& key, bool streamed) {
    const nlohmann::json body = {{"prompt", "a"}, {"max_tokens", 200000}, {"ignore_eos", true}, {"stream", streamed}};
    return post("/v1/completions", body.dump(), bearer(key));
  }

  testing::TempDir temp_;
  store::KeyStore store_{temp_.path() / "state"};
};

TEST_F(Keys, TenantsDoNotShareCachedPrefixes) {
  const std::string one = store_.create("one", KeyRole::kUser).text;
  const std::string two = store_.create("two", KeyRole::kUser).text;
  const TestServer server(options());
  const auto num_cached = [&](const std::string& key) {
    const nlohmann::json body = {{"prompt", std::string(100, 'x')}, {"max_tokens", 1}};
    const auto answer = ask(server.port(), post("/v1/completions", body.dump(), bearer(key))).json();
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  };
  EXPECT_EQ(num_cached(one), 0);
  EXPECT_EQ(num_cached(two), 0);
  EXPECT_GT(num_cached(one), 90);
  EXPECT_GT(num_cached(two), 90);
}

TEST_F(Keys, WithoutAnyTheLoopbackIsOpenAndWhateverIsSentIsTaken) {
  const TestServer server(options());
  EXPECT_EQ(models(server, "").status, 200);
  EXPECT_EQ(models(server, bearer("EMPTY")).status, 200);
}

TEST_F(Keys, ARefusalSaysWhatIsWrong) {
  const std::string key = store_.create("laptop", KeyRole::kUser).text;
  const TestServer server(options());
  const auto refused = [&](const std::string& headers) { return refusal(models(server, headers)); };
  EXPECT_THAT(refused(""), HasSubstr("no API key"));
  EXPECT_THAT(refused(bearer("")), HasSubstr("malformed: it is empty"));
  EXPECT_THAT(refused("Authorization: Basic abc\r\n"), HasSubstr("Bearer KEY"));
  EXPECT_THAT(refused(fmt::format("Authorization: {}\r\n", key)), HasSubstr("Bearer KEY"));
  EXPECT_THAT(refused(bearer(" " + key)), HasSubstr("malformed: it has a space in it"));
  EXPECT_THAT(refused(bearer("'" + key + "'")), HasSubstr("malformed: it has quotes in it"));
  EXPECT_THAT(refused(bearer(key.substr(1))), HasSubstr("malformed: it does not begin with sk-"));
  EXPECT_THAT(refused(bearer(key.substr(0, 50))), HasSubstr("malformed: it is 50 characters long"));
  std::string mistyped = key;
  mistyped[30] = mistyped[30] == 'x' ? 'y' : 'x';
  EXPECT_THAT(refused(bearer(mistyped)), HasSubstr("malformed: its checksum is wrong"));
  EXPECT_THAT(refused("x-api-key: nonsense\r\n"), HasSubstr("malformed"));
  EXPECT_THAT(refused(bearer(key) + "x-api-key: another\r\n"), HasSubstr("more than one"));
  EXPECT_EQ(refused(bearer(store::make_api_key(store::make_key_id()).text())), "the API key is not known here");
  EXPECT_THAT(refusal(ask(server.port(), get("/v1/models?api_key=" + key))), HasSubstr("no API key"));
}

TEST_F(Keys, AKeyIsTakenFromEitherHeader) {
  const std::string key = store_.create("laptop", KeyRole::kUser).text;
  const TestServer server(options());
  for (const std::string& headers : {bearer(key), "authorization: bearer " + key + "\r\n", "X-API-Key: " + key + "\r\n",
                                     bearer(key) + "x-api-key: " + key + "\r\n"})
    EXPECT_EQ(models(server, headers).status, 200) << headers;
}

TEST_F(Keys, RevokedAndRotatedAreSaidOnlyToTheRightSecret) {
  const NewKey revoked = store_.create("revoked", KeyRole::kUser);
  const NewKey rotated = store_.create("rotated", KeyRole::kUser);
  const TestServer server(options());
  const NewKey current = store_.rotate(rotated.info.id);
  store_.revoke(revoked.info.id);
  EXPECT_EQ(refusal(models(server, bearer(revoked.text))), "the API key was revoked");
  EXPECT_THAT(refusal(models(server, bearer(rotated.text))), HasSubstr("rotated"));
  EXPECT_EQ(models(server, bearer(current.text)).status, 200);
  for (const NewKey* key : {&revoked, &rotated}) {
    const std::string guess = store::make_api_key(key->info.id).text();
    EXPECT_EQ(refusal(models(server, bearer(guess))), "the API key is not known here");
  }
}

TEST_F(Keys, EveryRouteButThePublicOnesNeedsOne) {
  store_.create("laptop", KeyRole::kUser);
  const TestServer server(options());
  for (const Route& route : routes()) {
    const std::string request =
        fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", route.method, route.path);
    EXPECT_EQ(ask(server.port(), request).status, route.scope == Scope::kPublic ? 200 : 401) << route.path;
  }
  for (const char* path : {"/models", "/api/v1/models", "/api/models"})
    EXPECT_EQ(ask(server.port(), get(path)).status, 401) << path;
}

TEST_F(Keys, TheBodyIsNotLookedAtBefore) {
  store_.create("laptop", KeyRole::kUser);
  const TestServer server(options());
  for (const std::string& body : {std::string("{"), std::string(1 << 20, '[')})
    EXPECT_EQ(ask(server.port(), post("/v1/chat/completions", body)).status, 401);
  EXPECT_EQ(ask(server.port(), "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}").status,
            401);
}

TEST_F(Keys, ALongBodyIsNotEvenReadBefore) {
  const std::string key = bearer(store_.create("laptop", KeyRole::kUser).text);
  const TestServer server(options());
  const std::string head = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  for (const char* body : {"Content-Length: 1000000\r\n", "Transfer-Encoding: chunked\r\n",
                           "Content-Length: 16\r\nExpect: 100-continue\r\n"}) {
    SocketClient client(server.port());
    client.send(head + body + "\r\n");
    EXPECT_THAT(refusal(client.receive()), HasSubstr("no API key")) << body;
    EXPECT_TRUE(client.is_closed()) << body;
  }
  EXPECT_EQ(ask(server.port(), post("/tokenize", "{\"prompt\": \"" + std::string(100'000, 'a') + "\"}", key)).status,
            200);
  SocketClient patient(server.port());
  patient.send(head + key + "Content-Length: 16\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(patient.receive_some(), HasSubstr("100 Continue"));
}

TEST_F(Keys, ARefusalLeavesTheConnectionOpen) {
  const std::string key = bearer(store_.create("laptop", KeyRole::kUser).text);
  const TestServer server(options());
  SocketClient client(server.port());
  client.send(post("/tokenize", R"({"prompt": "a"})") + post("/tokenize", R"({"prompt": "a"})", key));
  EXPECT_EQ(client.receive().status, 401);
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(Keys, AKeyThatEndsWhileTheBodyComesIsRefused) {
  const NewKey key = store_.create("laptop", KeyRole::kUser);
  const TestServer server(options());
  SocketClient client(server.port());
  const std::string request =
      post("/tokenize", "{\"prompt\": \"" + std::string(100'000, 'a') + "\"}", bearer(key.text));
  client.send(request.substr(0, 50'000));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  store_.revoke(key.info.id);
  client.send(request.substr(50'000));
  EXPECT_EQ(refusal(client.receive()), "the API key was revoked");
}

TEST_F(Keys, SqlInAHeaderIsAMalformedKey) {
  const NewKey key = store_.create("laptop", KeyRole::kUser);
  const TestServer server(options());
  for (const char* sql : {"' OR '1'='1", "'; DROP TABLE keys; --", "sk-' UNION SELECT 1,2,3 --", "sk-%27--"})
    EXPECT_THAT(refusal(models(server, bearer(sql))), HasSubstr("malformed")) << sql;
  EXPECT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(models(server, bearer(key.text)).status, 200);
}

TEST_F(Keys, TheFirstKeyClosesARunningServerAndItStaysClosed) {
  const TestServer server(options());
  EXPECT_EQ(models(server, "").status, 200);
  const NewKey key = store_.create("laptop", KeyRole::kUser);
  EXPECT_EQ(models(server, "").status, 401);
  EXPECT_EQ(models(server, bearer(key.text)).status, 200);
  store_.revoke(key.info.id);
  EXPECT_EQ(models(server, "").status, 401);
  EXPECT_EQ(refusal(models(server, bearer(key.text))), "the API key was revoked");
}

TEST_F(Keys, AStreamIsCutWithinASecondOfItsEnd) {
  const auto server = patient_server();
  for (const bool is_revoked : {true, false}) {
    const NewKey key = store_.create("laptop", KeyRole::kUser);
    SocketClient stream(server->port());
    stream.send(long_request(key.text, true));
    SocketClient whole(server->port());
    whole.send(long_request(key.text, false));
    ASSERT_THAT(stream.receive_some(), HasSubstr("200 OK"));
    const auto began = Clock::now();
    is_revoked ? void(store_.revoke(key.info.id)) : void(store_.rotate(key.info.id));
    std::string rest;
    while (!rest.ends_with("\r\n0\r\n\r\n")) {
      const std::string more = stream.receive_some();
      if (more.empty()) break;
      rest += more;
    }
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(1));
    EXPECT_THAT(rest, HasSubstr("the API key was revoked or rotated meanwhile"));
    EXPECT_THAT(rest, ::testing::Not(HasSubstr("[DONE]")));
    EXPECT_EQ(whole.receive().status, 401);
    EXPECT_TRUE(server->becomes_idle());
  }
}

TEST_F(Keys, OtherKeysStreamsGoOn) {
  const auto server = patient_server();
  const NewKey mine = store_.create("mine", KeyRole::kUser);
  const NewKey other = store_.create("other", KeyRole::kUser);
  SocketClient stream(server->port());
  stream.send(long_request(mine.text, true));
  ASSERT_THAT(stream.receive_some(), HasSubstr("200 OK"));
  store_.revoke(other.info.id);
  const auto end = Clock::now() + std::chrono::milliseconds(1200);
  while (Clock::now() < end)
    ASSERT_NE(stream.receive_some(), "");
  EXPECT_GT(server->stats().num_running, 0U);
}

TEST_F(Keys, NothingIsAcceptedAfterTheRevokesAnswer) {
  const TestServer server(options());
  store_.create("keeps the server closed", KeyRole::kUser);
  const int num_trials = testing::soak_count(40, 1000);
  std::atomic<int> num_accepted{0};
  for (int trial = 0; trial < num_trials; ++trial) {
    const NewKey key = store_.create("laptop", KeyRole::kUser);
    std::atomic<bool> is_revoked{false};
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        SocketClient client(server.port());
        for (int after = 0; after < 3;) {
          const bool is_late = is_revoked;
          client.send(get("/v1/models", bearer(key.text)));
          const int status = client.receive().status;
          EXPECT_TRUE(!is_late || status == 401) << status;
          num_accepted += status == 200 ? 1 : 0;
          after += is_late ? 1 : 0;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    store_.revoke(key.info.id);
    is_revoked = true;
    for (std::thread& client : clients)
      client.join();
  }
  EXPECT_GT(num_accepted, num_trials) << "the keys never worked";
}

TEST_F(Keys, KeysThatCantBeReadLetNobodyIn) {
  const std::string key = store_.create("laptop", KeyRole::kUser).text;
  const TestServer server(options());
  std::filesystem::rename(store_.files().database(), temp_.path() / "moved");
  const WireAnswer answer = models(server, bearer(key));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.json()["error"]["code"], "storage_unavailable");
  EXPECT_EQ(answer.body.find(temp_.path().string()), std::string::npos);
  EXPECT_EQ(ask(server.port(), get("/health")).status, 200);
  std::filesystem::rename(temp_.path() / "moved", store_.files().database());
  EXPECT_EQ(models(server, bearer(key)).status, 200);
}

TEST_F(Keys, TheirLastUseIsNotedAtTheEndAtTheLatest) {
  const NewKey used = store_.create("used", KeyRole::kUser);
  store_.create("unused", KeyRole::kUser);
  {
    const TestServer server(options());
    models(server, bearer(used.text));
  }
  EXPECT_TRUE(store_.list()[0].last_used_s);
  EXPECT_FALSE(store_.list()[1].last_used_s);
}

TEST_F(Keys, OtherMachinesNeedOneWhateverTheySay) {
  ServerOptions exposed = options();
  exposed.host = "0.0.0.0";
  try {
    const Server server(exposed, {});
    FAIL() << "open to all";
  } catch (const base::Exception& error) {
    EXPECT_EQ(error.error().kind, base::ErrorKind::kConfig);
    EXPECT_THAT(error.what(), HasSubstr("vitrine keys create"));
  }
  const NewKey key = store_.create("laptop", KeyRole::kUser);
  const TestServer server(exposed);
  EXPECT_EQ(models(server, "").status, 401);
  EXPECT_EQ(models(server, bearer(key.text)).status, 200);
  const auto called = [&](const char* host) {
    return ask(server.port(), fmt::format("GET /v1/models HTTP/1.1\r\nHost: {}\r\n{}\r\n", host, bearer(key.text)))
        .status;
  };
  EXPECT_EQ(called("192.0.2.1:8080"), 200) << "an address is no name that a site could have";
  EXPECT_EQ(called("[2001:db8::1]:8080"), 200);
  EXPECT_EQ(called("evil.com"), 421);
  store_.revoke(key.info.id);
  EXPECT_EQ(models(server, "").status, 401);
}

class Scopes : public Keys {
 protected:
  static unsigned status(Access& access, Scope scope, const std::string& key, const char* method = "POST") {
    HttpRequest request;
    request.method = method;
    if (!key.empty()) request.headers.emplace_back("Authorization", "Bearer " + key);
    try {
      access.admit(request, scope);
    } catch (const ApiException& exception) {
      return exception.error().status;
    }
    return 200;
  }
};

TEST_F(Scopes, AdminRoutesAreForAdminKeysAlone) {
  Access access(&store_);
  EXPECT_EQ(status(access, Scope::kAdmin, ""), 401U) << "not even on an open server";
  EXPECT_EQ(status(access, Scope::kAdmin, "", "GET"), 200U) << "who may use all may see the counters";
  EXPECT_EQ(status(access, Scope::kUser, ""), 200U);
  const std::string user = store_.create("user", KeyRole::kUser).text;
  const std::string admin = store_.create("admin", KeyRole::kAdmin).text;
  EXPECT_EQ(status(access, Scope::kAdmin, user), 403U);
  EXPECT_EQ(status(access, Scope::kAdmin, user, "GET"), 403U);
  EXPECT_EQ(status(access, Scope::kAdmin, "", "GET"), 401U);
  EXPECT_EQ(status(access, Scope::kAdmin, admin), 200U);
  EXPECT_EQ(status(access, Scope::kUser, user), 200U);
  EXPECT_EQ(status(access, Scope::kUser, admin), 200U);
  EXPECT_EQ(status(access, Scope::kUser, ""), 401U);
  EXPECT_EQ(status(access, Scope::kPublic, ""), 200U);
}

TEST_F(Scopes, AScrapeKeyReadsTheMetricsAndNothingElse) {
  const std::string scrape = store_.create("prometheus", KeyRole::kScrape).text;
  const std::string user = store_.create("user", KeyRole::kUser).text;
  const std::string admin = store_.create("admin", KeyRole::kAdmin).text;
  Access access(&store_);
  for (const Route& route : routes()) {
    const std::string method(route.method);
    const bool is_public = route.scope == Scope::kPublic;
    const bool is_metrics = route.path == "/metrics";
    EXPECT_EQ(route.scope == Scope::kScrape, is_metrics) << route.path;
    EXPECT_EQ(status(access, route.scope, scrape, method.c_str()), is_public || is_metrics ? 200U : 403U) << route.path;
    EXPECT_EQ(status(access, route.scope, admin, method.c_str()), 200U) << route.path;
    const bool is_users = is_public || route.scope == Scope::kUser;
    EXPECT_EQ(status(access, route.scope, user, method.c_str()), is_users ? 200U : 403U) << route.path;
  }
}

TEST_F(Scopes, ARefusalSaysWhichKeyIsNeeded) {
  const std::string scrape = bearer(store_.create("prometheus", KeyRole::kScrape).text);
  const std::string user = bearer(store_.create("user", KeyRole::kUser).text);
  const TestServer server(options());
  EXPECT_EQ(ask(server.port(), get("/metrics", scrape)).status, 200);
  EXPECT_THAT(ask(server.port(), get("/metrics", user)).body, HasSubstr("--scrape"));
  for (const std::string& request : {get("/v1/models", scrape), get("/v1/admin/keys", scrape)}) {
    const WireAnswer answer = ask(server.port(), request);
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.json()["error"]["code"], "scrape_key_only");
  }
}

TEST_F(Scopes, WithoutAStoreNoKeyIsRight) {
  Access access(nullptr);
  EXPECT_EQ(status(access, Scope::kUser, ""), 200U);
  EXPECT_EQ(status(access, Scope::kAdmin, store::make_api_key("aaaaaaaa").text()), 401U);
}

}  // namespace
}  // namespace vitrine::server
