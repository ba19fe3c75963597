#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api_error.h"
#include "server/path_pattern.h"
#include "server/router.h"

namespace vitrine::server {
namespace {

using ::testing::HasSubstr;

ApiError error_for(std::string_view method, std::string_view path) {
  try {
    find_route(method, path);
  } catch (const ApiException& exception) {
    return exception.error();
  }
  return {.status = 200};
}

TEST(Routes, EachHasAHandlerAndStandsOnce) {
  std::set<std::string> seen;
  for (const Route& route : routes()) {
    EXPECT_NE(route.handle, nullptr) << route.path;
    EXPECT_TRUE(seen.insert(std::string(route.method) + " " + std::string(strip_base(route.path))).second)
        << route.path;
    EXPECT_EQ(&find_route(route.method, route.path), &route);
    EXPECT_EQ(&find_route(route.method, fill_pattern(route.path, "/x/x/x/x/x/x")), &route);
  }
}

TEST(Routes, OnlyHealthAndThePagesArePublic) {
  for (const Route& route : routes()) {
    const std::set<std::string_view> open = {"/health", "/",        "/xray", "/live",
                                             "/keys",   "/planner", "/docs", "/report.html"};
    EXPECT_EQ(route.scope == Scope::kPublic, open.contains(route.path) || route.path.starts_with("/assets/"))
        << route.path;
  }
}

TEST(Routes, ABaseUrlMayHaveAPrefixOrNone) {
  for (const char* path :
       {"/v1/chat/completions", "/chat/completions", "/api/chat/completions", "/api/v1/chat/completions"})
    EXPECT_EQ(find_route("POST", path).path, "/v1/chat/completions") << path;
  EXPECT_EQ(find_route("GET", "/v1/health").path, "/health");
}

TEST(Routes, ANearMissNamesTheRightPath) {
  EXPECT_THAT(error_for("POST", "/v1/chat/completion").message, HasSubstr("POST /v1/chat/completions"));
  EXPECT_THAT(error_for("GET", "/v1/model").message, HasSubstr("GET /v1/models"));
  EXPECT_EQ(error_for("GET", "/nothing/like/it").status, 404U);
}

TEST(Routes, APartInBracesStandsForAnyOneButNotForNothing) {
  EXPECT_EQ(find_route("POST", "/v1/admin/keys/3k9x0f2a/rotate").path, "/v1/admin/keys/{id}/rotate");
  EXPECT_EQ(find_route("PATCH", "/admin/keys/{id}/limits").path, "/v1/admin/keys/{id}/limits");
  EXPECT_EQ(match_path("/admin/keys/{id}/rotate", "/admin/keys/3k9x0f2a/rotate"), std::vector<std::string>{"3k9x0f2a"});
  EXPECT_EQ(match_path("/{a}/b/{c}", "/x/b/y"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(match_path("/models", "/models"), std::vector<std::string>{});
  for (const char* path : {"/admin/keys//rotate", "/admin/keys/rotate", "/admin/keys/a/b/rotate",
                           "/admin/keys/a/rotate/", "/admin/keys/a", "", "/"})
    EXPECT_EQ(match_path("/admin/keys/{id}/rotate", path), std::nullopt) << path;
}

TEST(Routes, ANearMissWithAPartOfItsOwnIsToldWithoutIt) {
  const std::string message = error_for("POST", "/v1/admin/keys/3k9x0f2a/rotat").message;
  EXPECT_THAT(message, HasSubstr("POST /v1/admin/keys/{id}/rotate"));
  EXPECT_EQ(message.find("3k9x0f2a"), std::string::npos);
  EXPECT_EQ(error_for("GET", "/v1/admin/keys/3k9x0f2a/rotate").headers.at(0).second, "POST");
  const std::string hostile = "/v1/admin/keys/" + std::string(100'000, 'a') + "/rotat";
  EXPECT_EQ(error_for("POST", hostile).status, 404U);
}

TEST(Routes, APageHasNoPrefixAndWhatLooksLikeItNamesTheRightPath) {
  EXPECT_EQ(find_route("GET", "/keys").path, "/keys");
  for (const char* path : {"/v1/keys", "/api/keys", "/api/v1/keys"}) {
    EXPECT_EQ(error_for("GET", path).status, 404U) << path;
    EXPECT_THAT(error_for("GET", path).message, HasSubstr("did you mean GET /v1/admin/keys?"));
    EXPECT_THAT(error_for("POST", path).message, HasSubstr("did you mean POST /v1/admin/keys?"));
  }
  EXPECT_THAT(error_for("GET", "/v1/live").message, HasSubstr("did you mean GET /v1/admin/live?"));
  EXPECT_THAT(error_for("GET", "/v1/usage").message, HasSubstr("did you mean GET /v1/admin/usage?"));
  EXPECT_EQ(error_for("GET", "/v1/docs").status, 404U);
}

TEST(Routes, APathIsTakenAsItStands) {
  for (const char* path :
       {"//v1/models", "/v1//models", "/v1/../v1/models", "/v1/%6dodels", "/v1/models/", "/V1/models", "/v1/v1/models",
        "/api/api/models", "/api", "/v1", "/v1/", "", "/v1/models%00"})
    EXPECT_EQ(error_for("GET", path).status, 404U) << path;
}

TEST(Routes, AWrongMethodNamesTheRightOnes) {
  const ApiError error = error_for("GET", "/v1/chat/completions");
  EXPECT_EQ(error.status, 405U);
  EXPECT_EQ(error.headers.at(0), (std::pair<std::string, std::string>("allow", "POST")));
  EXPECT_EQ(error_for("HEAD", "/v1/models").status, 200U);
  EXPECT_EQ(error_for("BREW", "/v1/models").status, 405U);
}

}  // namespace
}  // namespace vitrine::server
