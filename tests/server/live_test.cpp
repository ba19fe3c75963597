#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

class Live : public ::testing::Test {
 protected:
  Json look() { return Json::parse(ask(server_.port(), get("/v1/admin/live")).body); }

  // Looks until `holds` does, and gives the last look.
  template <typename Claim>
  Json look_until(Claim holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    Json json = look();
    while (!holds(json) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      json = look();
    }
    return json;
  }

  TestServer server_;
};

TEST_F(Live, AnIdleServerHasItsBlocksFree) {
  const Json json = look();
  EXPECT_TRUE(json["requests"].empty());
  const Json& model = json["models"][0];
  EXPECT_EQ(model["id"], "tiny");
  EXPECT_EQ(model["num_running"], 0);
  EXPECT_EQ(model["blocks"]["map"].get<std::string>().size(), model["blocks"]["total"].get<std::size_t>());
  EXPECT_EQ(model["blocks"]["in_use"], 0);
  EXPECT_EQ(json["seconds"]["output_tokens"].size(), 120U);
  EXPECT_TRUE(json["window"]["itl_p50_s"].is_null());
}

TEST_F(Live, ARequestIsSeenWhileItRunsAndItsTokensAfterwards) {
  auto client = std::make_unique<SocketClient>(server_.port());
  client->send(post("/v1/chat/completions",
                    R"({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3000, "ignore_eos": true,
                       "stream": true})"));
  client->receive_some();
  const Json json = look_until([](const Json& seen) {
    return !seen["requests"].empty() && seen["requests"][0]["state"] == "decode" &&
           !seen["requests"][0]["blocks"].is_null() && seen["models"][0]["num_running"] == 1;
  });
  ASSERT_EQ(json["requests"].size(), 1U);
  const Json& request = json["requests"][0];
  EXPECT_EQ(request["state"], "decode");
  EXPECT_TRUE(request["key_id"].is_null());
  EXPECT_EQ(request["model"], "tiny");
  EXPECT_GT(request["prompt_tokens"], 0);
  EXPECT_GT(request["completion_tokens"], 0);
  EXPECT_GT(request["blocks"], 0);
  EXPECT_THAT(json["models"][0]["blocks"]["map"].get<std::string>(), ::testing::ContainsRegex("[op]"));
  client.reset();
  const Json after = look_until([](const Json& seen) { return seen["requests"].empty(); });
  EXPECT_TRUE(after["requests"].empty());
  EXPECT_GT(after["window"]["output_tokens"], 0);
}

}  // namespace
}  // namespace vitrine::server
