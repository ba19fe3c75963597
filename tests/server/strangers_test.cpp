#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/ip/address.hpp>

#include "server/http/limits.h"
#include "server/http/stranger_count.h"
#include "server/server_fixture.h"
#include "store/key_store.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using Places = std::vector<std::optional<StrangerCount::Place>>;

boost::asio::ip::address address(const char* text) {
  return boost::asio::ip::make_address(text);
}

TEST(StrangerCount, AnAddressHasSoManyPlacesAndGetsThemBack) {
  StrangerCount count(2);
  Places places;
  places.push_back(count.admit(address("192.0.2.1")));
  places.push_back(count.admit(address("192.0.2.1")));
  EXPECT_FALSE(count.admit(address("192.0.2.1")));
  EXPECT_FALSE(count.admit(address("::ffff:192.0.2.1"))) << "the same in other words";
  EXPECT_TRUE(count.admit(address("192.0.2.2")));
  places.pop_back();
  EXPECT_TRUE(count.admit(address("192.0.2.1")));
}

TEST(StrangerCount, ANetworkThatOneMachineHasIsOneAddress) {
  StrangerCount count(1);
  const auto place = count.admit(address("2001:db8::1"));
  EXPECT_FALSE(count.admit(address("2001:db8::2")));
  EXPECT_TRUE(count.admit(address("2001:db8:0:1::1")));
}

TEST(StrangerCount, ThisMachineIsKnownHoweverItIsWritten) {
  for (const char* local : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(StrangerCount::is_local(address(local))) << local;
  for (const char* other : {"192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "0.0.0.0"})
    EXPECT_FALSE(StrangerCount::is_local(address(other))) << other;
}

ServerOptions few_strangers() {
  ServerOptions options;
  options.limits.counts_loopback = true;
  options.limits.num_strangers = 4;
  return options;
}

// Waits until a connection is answered; a place becomes free a moment after its connection has ended.
bool is_served(const TestServer& server, const std::string& request) {
  for (int i = 0; i < 200; ++i) {
    if (ask(server.port(), request).status == 200) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Strangers, OneAddressCantTakeAllConnections) {
  const TestServer server(few_strangers());
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<SocketClient>(server.port()));
    clients.back()->send(get("/health"));
    EXPECT_EQ(clients.back()->receive().status, 200);
  }
  EXPECT_EQ(ask(server.port(), get("/health")).status, 0);
  clients.pop_back();
  EXPECT_TRUE(is_served(server, get("/health")));
}

TEST(Strangers, WhoeverShowsAKeyIsNone) {
  const testing::TempDir temp;
  store::KeyStore store(temp.path() / "state");
  const std::string key = bearer(store.create("laptop", store::KeyRole::kUser).text);
  ServerOptions options = few_strangers();
  options.keys = &store;
  const TestServer server(options);
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<SocketClient>(server.port()));
    clients.back()->send(get("/v1/models", key));
    EXPECT_EQ(clients.back()->receive().status, 200) << i;
  }
  EXPECT_EQ(ask(server.port(), get("/v1/models")).status, 401) << "others are still answered";
}

TEST(HttpLimits, AreThoseOfTheHandbook) {
  const HttpLimits limits;
  EXPECT_EQ(limits.head_time, std::chrono::seconds(10));
  EXPECT_EQ(limits.body_time, std::chrono::seconds(30));
  EXPECT_EQ(limits.write_time, std::chrono::seconds(30));
  EXPECT_EQ(limits.body_bytes, 8U << 20U);
  EXPECT_LE(limits.head_bytes + limits.unknown_body_bytes, 64U << 10U);
  EXPECT_EQ(limits.num_strangers, 64U);
  EXPECT_FALSE(limits.counts_loopback);
}

}  // namespace
}  // namespace vitrine::server
