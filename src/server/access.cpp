#include "server/access.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/unix_time.h"
#include "server/api_error.h"
#include "store/api_key.h"

namespace vitrine::server {
namespace {

ApiException unauthorized(std::string message) {
  return ApiException({.status = 401,
                       .message = std::move(message),
                       .code = "invalid_api_key",
                       .headers = {{"www-authenticate", "Bearer"}}});
}

bool may_use(store::KeyRole role, Scope scope) {
  if (role == store::KeyRole::kAdmin) return true;
  return scope == (role == store::KeyRole::kScrape ? Scope::kScrape : Scope::kUser);
}

ApiException forbidden(store::KeyRole role, Scope scope) {
  ApiError error{.status = 403, .message = "this needs the API key of an admin", .code = "admin_key_needed"};
  if (scope == Scope::kScrape) error.message += ", or one made with `vitrine keys create NAME --scrape`";
  if (role == store::KeyRole::kScrape) {
    error.message = "this API key may read /metrics and nothing else";
    error.code = "scrape_key_only";
  }
  return ApiException(std::move(error));
}

ApiException without_plan(const store::KeyGrant& grant) {
  return ApiException({.status = 403,
                       .message = fmt::format(
                           "the plan {} of this API key is not in this server's settings: add a table [plans.{}] and "
                           "start it again, or give the key another with `vitrine keys limits {} --plan NAME`",
                           grant.limits.plan, grant.limits.plan, grant.key_id),
                       .code = "plan_unknown"});
}

bool is_reading(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

std::string_view without_scheme(std::string_view value) {
  const std::string_view scheme = value.substr(0, value.find(' '));
  if (!is_same_name(scheme, "bearer"))
    throw unauthorized("Authorization: write it as `Bearer KEY`, or send the key as x-api-key");
  return value.substr(std::min(value.size(), scheme.size() + 1));
}

// The key in the head of a request; all places must agree, or a proxy and this server could read two.
std::string_view presented_key(const HttpRequest& request) {
  std::vector<std::string_view> keys;
  for (const auto& [name, value] : request.headers) {
    if (is_same_name(name, "authorization")) keys.push_back(without_scheme(value));
    if (is_same_name(name, "x-api-key")) keys.emplace_back(value);
  }
  if (keys.empty()) throw unauthorized("no API key: send the header `Authorization: Bearer KEY`, or x-api-key");
  if (std::ranges::any_of(keys, [&](std::string_view key) { return key != keys.front(); }))
    throw unauthorized("the request has more than one API key; send one");
  return keys.front();
}

}  // namespace

Access::Access(const store::KeyStore* keys, store::Plans plans) {
  if (keys != nullptr) ring_.emplace(*keys, std::move(plans));
  is_closed_ = num_live_keys() > 0;
}

std::optional<store::KeyGrant> Access::admit(const HttpRequest& request, Scope scope) {
  if (scope == Scope::kPublic) return std::nullopt;
  if (!refresh()) {
    throw storage_unavailable("the API keys can't be read; the server's log says why");
  }
  if (!is_closed_ && (scope == Scope::kUser || is_reading(request))) return std::nullopt;
  if (!is_closed_)
    throw unauthorized(
        "changes need the API key of an admin, and there is none yet: run `vitrine keys create NAME --admin`");
  store::KeyGrant grant = check(request);
  if (!may_use(grant.role, scope)) throw forbidden(grant.role, scope);
  // What counts for no limit stays open: an admin must be able to give the key another plan.
  if (grant.is_without_plan && scope == Scope::kUser) throw without_plan(grant);
  uses_s_[grant.key_id] = base::unix_time_s();
  return grant;
}

store::KeyGrant Access::check(const HttpRequest& request) {
  const auto key = store::parse_api_key(presented_key(request));
  if (!key) throw unauthorized("the API key is malformed: " + key.error().message);
  if (!ring_) throw unauthorized("the API key is not known here");
  const store::KeyRing::Check checked = ring_->check(*key);
  switch (checked.verdict) {
    case store::KeyVerdict::kValid:
      return checked.grant;
    case store::KeyVerdict::kRevoked:
      throw unauthorized("the API key was revoked");
    case store::KeyVerdict::kRotated:
      throw unauthorized("the API key was rotated: a newer one has taken its place");
    case store::KeyVerdict::kUnknown:
      break;
  }
  throw unauthorized("the API key is not known here");
}

bool Access::refresh() {
  if (!ring_) return true;
  try {
    ring_->refresh();
    is_closed_ = is_closed_ || ring_->num_live() > 0;
    is_broken_ = false;
  } catch (const base::Exception& exception) {
    if (!std::exchange(is_broken_, true)) fmt::print(stderr, "vitrine: {}\n", exception.what());
  }
  return !is_broken_;
}

std::map<std::string, std::int64_t> Access::take_uses() {
  return std::exchange(uses_s_, {});
}

}  // namespace vitrine::server
