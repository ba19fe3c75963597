#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/route_table.h"
#include "server/server_fixture.h"
#include "server/web_files.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Web : public ::testing::Test {
 protected:
  WireAnswer ask(std::string_view path, std::string_view headers = "") {
    return server::ask(server_.port(), get(std::string(path), std::string(headers)));
  }

  TestServer server_;
};

// What stands between quotes after `name=` for the first time.
std::string attribute(std::string_view page, std::string_view name) {
  const std::size_t at = page.find(fmt::format(" {}=\"/assets/", name));
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + name.size() + 3;
  return std::string(page.substr(begin, page.find('"', begin) - begin));
}

TEST_F(Web, EveryPageIsTheOneFileThatLoadsFromThisServerAlone) {
  const std::string page = ask("/").body;
  for (const char* path : {"/", "/xray", "/live", "/keys", "/planner", "/docs"}) {
    const WireAnswer answer = ask(path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.body, page) << path;
    EXPECT_THAT(answer.head, HasSubstr("Content-Type: text/html; charset=utf-8")) << path;
    EXPECT_THAT(answer.head, HasSubstr("cache-control: no-cache")) << path;
    EXPECT_THAT(answer.head, HasSubstr("content-security-policy: default-src 'none'; script-src 'self'")) << path;
    EXPECT_THAT(answer.head, HasSubstr("x-content-type-options: nosniff")) << path;
  }
  EXPECT_THAT(page, Not(HasSubstr("://")));
}

// Pages fill it with a request and save it; opened from here it is as strict as they are.
TEST_F(Web, TheFormOfAReportHasOnePlaceForItsData) {
  const WireAnswer answer = ask("/report.html");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("cache-control: no-cache"));
  const std::string_view place = "\"VITRINE_XRAY_DATA\"";
  const std::size_t at = answer.body.find(place);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(answer.body.find(place, at + 1), std::string::npos);
  EXPECT_THAT(answer.body, Not(HasSubstr("src=")));
}

TEST_F(Web, WhatThePageLoadsIsThereForAYear) {
  const std::string page = ask("/").body;
  const std::string script = attribute(page, "src");
  ASSERT_THAT(script, HasSubstr("/assets/"));
  const WireAnswer answer = ask(script);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: text/javascript; charset=utf-8"));
  EXPECT_THAT(answer.head, HasSubstr("cache-control: public, max-age=31536000, immutable"));
  EXPECT_EQ(answer.body, find_web_file(script)->content);
}

TEST_F(Web, WhoeverHasTheFileIsNotSentItAgain) {
  const WireAnswer first = ask("/");
  const std::size_t at = first.head.find("etag: ") + 6;
  const std::string etag = first.head.substr(at, first.head.find('\r', at) - at);
  SocketClient client(server_.port());
  client.send(get("/", "If-None-Match: W/\"other\", " + etag + "\r\n") + get("/health"));
  const std::string head = client.receive_some();
  EXPECT_THAT(head, HasSubstr("304 Not Modified"));
  EXPECT_THAT(head, Not(HasSubstr("<html")));
  EXPECT_EQ(ask("/", "If-None-Match: \"other\"\r\n").status, 200);
}

TEST_F(Web, OnlyNamesOfTheTableAreServed) {
  for (const char* path : {"/index.html", "/assets/", "/assets/../index.html", "/assets/%2e%2e/index.html", "/v1/"})
    EXPECT_EQ(ask(path).status, 404) << path;
}

TEST_F(Web, ForeignNamesOfTheServerGetNoPage) {
  EXPECT_EQ(server::ask(server_.port(), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 421);
}

}  // namespace
}  // namespace vitrine::server
