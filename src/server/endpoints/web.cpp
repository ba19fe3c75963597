#include <string>

#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/web_files.h"

namespace vitrine::server {
namespace {

// The pages load from this server alone, are shown in no frame, and no text ever becomes markup or code.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

bool is_known(std::string_view if_none_match, std::string_view etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string_view::npos;
}

HttpResponse response_of(const WebFile& file, const HttpRequest& request) {
  HttpResponse response;
  response.content_type = file.content_type;
  response.headers = {{"etag", file.etag},
                      {"cache-control", file.is_immutable() ? "public, max-age=31536000, immutable" : "no-cache"},
                      {"x-content-type-options", "nosniff"},
                      {"referrer-policy", "no-referrer"},
                      {"cross-origin-opener-policy", "same-origin"},
                      {"cross-origin-resource-policy", "same-origin"},
                      {"content-security-policy", kContentPolicy}};
  if (is_known(request.header("if-none-match"), file.etag)) {
    response.status = 304;
  } else {
    response.body = file.content;
  }
  return response;
}

}  // namespace

Awaitable<void> answer_web_page(Exchange& exchange, Service&) {
  const WebFile* page = find_web_file("/index.html");
  if (page == nullptr) throw ApiException({.status = 404, .message = "this build has no pages", .code = "not_found"});
  HttpResponse response = response_of(*page, exchange.request());
  co_await exchange.respond(std::move(response));
}

Awaitable<void> answer_web_asset(Exchange& exchange, Service&) {
  HttpResponse response = response_of(*find_web_file(exchange.request().path), exchange.request());
  co_await exchange.respond(std::move(response));
}

}  // namespace vitrine::server
