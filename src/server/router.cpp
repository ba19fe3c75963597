#include "server/router.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <boost/asio/ip/address.hpp>

#include "base/elapsed.h"
#include "base/suggest.h"
#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/path_pattern.h"

namespace vitrine::server {
namespace {

// Pages and what they load have one address; the others may be asked for with and without what base URLs end in.
bool is_page(const Route& route) {
  return route.handle == answer_web_page || route.handle == answer_web_asset;
}

bool fits_path(const Route& route, std::string_view path) {
  const auto match =
      is_page(route) ? match_path(route.path, path) : match_path(strip_base(route.path), strip_base(path));
  return match.has_value();
}

std::string allowed_methods(std::string_view path) {
  std::string methods;
  for (const Route& route : routes()) {
    if (!fits_path(route, path)) continue;
    methods += (methods.empty() ? "" : ", ") + std::string(route.method);
  }
  return methods;
}

constexpr std::size_t kMaxNearBytes = 200;  // comparing takes the square of the length, for anyone who asks

// Whose path ends in the one that was asked for: "/admin/keys" for "/keys". Of the same method, if there is one.
const Route* find_longer(std::string_view method, std::string_view stripped_path) {
  const Route* longer = nullptr;
  for (const Route& route : routes()) {
    if (is_page(route) || !route.path.ends_with(stripped_path)) continue;
    if (longer == nullptr || (route.method == method && longer->method != method)) longer = &route;
  }
  return longer;
}

ApiException not_found(std::string_view method, std::string_view stripped_path) {
  std::vector<std::string> paths;
  for (const Route& route : routes()) {
    if (stripped_path.size() <= kMaxNearBytes) paths.push_back(fill_pattern(strip_base(route.path), stripped_path));
  }
  const auto near = base::nearest(stripped_path, paths);
  std::string message = "no such path; the endpoints are at /v1/chat/completions, /v1/completions, /v1/models";
  for (const Route& route : routes()) {
    if (near && fill_pattern(strip_base(route.path), stripped_path) == *near)
      message = fmt::format("no such path; did you mean {} {}?", route.method, route.path);
  }
  if (const Route* longer = find_longer(method, stripped_path))
    message = fmt::format("no such path; did you mean {} {}?", longer->method, longer->path);
  return ApiException({.status = 404, .message = std::move(message), .code = "not_found"});
}

// The name in a Host header, without its port.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

// An address in place of a name: no site can have its own one point elsewhere.
bool is_address(std::string_view name) {
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  boost::system::error_code error;
  asio::ip::make_address(name, error);
  return !error;
}

// Whether it has the form of a name or address with a port.
bool is_host(std::string_view host) {
  return std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._:[]").find(c) != std::string_view::npos;
  });
}

// A page of a foreign site reaches this server through the visitor's browser, but with its own name in Host.
void check_host(const HttpRequest& request, const Service::Options& options) {
  if (!is_host(request.header("host")))
    throw ApiException({.message = "Host: not the name of a host", .code = "malformed_request"});
  const std::string_view name = host_name(request.header("host"));
  const bool is_loopback = name == "localhost" || name == "127.0.0.1" || name == "[::1]" || name.empty();
  if (is_loopback || (options.is_exposed && is_address(name)) ||
      std::ranges::find(options.allowed_hosts, name) != options.allowed_hosts.end())
    return;
  throw ApiException({.status = 421,
                      .message = "Host: this server does not answer to that name; start it with --allow-host NAME",
                      .code = "unknown_host"});
}

void check_content_type(const HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return;
  const std::string_view type = request.header("content-type");
  if (type.substr(0, type.find(';')) == "application/json") return;
  throw ApiException(
      {.status = 415, .message = "Content-Type: send application/json", .code = "unsupported_media_type"});
}

ApiError dead_key() {
  return {.status = 401, .message = "the API key was revoked or rotated meanwhile", .code = "invalid_api_key"};
}

ApiError server_stops() {
  return {.status = 503, .message = "the server is stopping; ask again later", .code = "stopping"};
}

// Nobody reads it; 499 is how nginx counts such requests.
ApiError client_gone() {
  return {.status = 499, .message = "the client closed the connection", .code = "client_gone"};
}

// What the exchange is answered in place of `error`, which may be no more than what followed.
ApiError true_error(const Exchange& exchange, const ApiError& error) {
  if (exchange.cut_reason() == CutReason::kDeadKey) return dead_key();
  if (exchange.cut_reason() == CutReason::kServerStops) return server_stops();
  return exchange.is_gone() ? client_gone() : error;
}

}  // namespace

std::string_view strip_base(std::string_view path) {
  for (const std::string_view base : {"/api", "/v1"}) {
    if (path.starts_with(base) && path.size() > base.size() + 1 && path[base.size()] == '/')
      path.remove_prefix(base.size());
  }
  return path;
}

const Route& find_route(std::string_view method, std::string_view path) {
  const auto fits = [&](const Route& route) {
    return fits_path(route, path) && (route.method == method || (route.method == "GET" && method == "HEAD"));
  };
  const auto all = routes();
  if (const auto found = std::ranges::find_if(all, fits); found != all.end()) return *found;
  const std::string methods = allowed_methods(path);
  if (methods.empty()) throw not_found(method, strip_base(path));
  throw ApiException({.status = 405,
                      .message = "use " + methods + " here",
                      .code = "method_not_allowed",
                      .headers = {{"allow", methods}}});
}

// Its exchange is open as long as this lives; its end, however it comes about, is a line in the log.
class Router::Entry {
 public:
  Entry(Router& router, Exchange& exchange)
      : router_(router), place_(router.open_.insert(router.open_.end(), {&exchange})) {}
  ~Entry() {
    router_.log_end(*place_);
    router_.open_.erase(place_);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  OpenExchange& open() { return *place_; }

 private:
  Router& router_;
  std::list<OpenExchange>::iterator place_;
};

void Router::cut_dead_keys() {
  for (const OpenExchange& open : open_) {
    const auto& grant = open.admission.grant;
    if (grant && !open.exchange->is_cut() && !access_.holds(*grant)) open.exchange->cut(CutReason::kDeadKey);
  }
}

void Router::cut_all() {
  for (const OpenExchange& open : open_) {
    if (!open.exchange->is_cut()) open.exchange->cut(CutReason::kServerStops);
  }
}

void Router::admit(const HttpRequest& head, Admission& admission) {
  check_host(head, service_.options());
  admission.route = &find_route(head.method, head.path);
  admission.grant = access_.admit(head, admission.route->scope);
  check_content_type(head);
}

RequestOutcome Router::Admission::outcome(const HttpRequest& head, std::string_view request_id) const {
  return {.request_id = request_id,
          .method = head.method,
          .route = route != nullptr ? route->path : std::string_view(),
          .path = head.path,
          .key_id = grant ? std::string_view(grant->key_id) : std::string_view()};
}

void Router::log_end(const OpenExchange& open) {
  const Exchange& exchange = *open.exchange;
  RequestOutcome outcome = open.admission.outcome(exchange.request(), exchange.id());
  outcome.status = open.status != 0 ? open.status : exchange.status();
  outcome.answer = exchange.note() ? &*exchange.note() : nullptr;
  outcome.total_s = base::seconds_since(open.began);
  outcome.error = open.error;
  log_request(log_, outcome);
}

// A body may take long to arrive, and a key be revoked meanwhile: dispatch() asks again.
std::optional<HttpResponse> Router::refuse_head(const HttpRequest& head, const std::string& id) {
  Admission admission;
  try {
    admit(head, admission);
  } catch (const ApiException& exception) {
    const ApiError& error = exception.error();
    const std::string name = error.name();
    RequestOutcome outcome = admission.outcome(head, id);
    outcome.status = error.status;
    outcome.error = name;
    log_request(log_, outcome);
    service_.metrics().count_response(admission.path(), error.status);
    return error.response();
  }
  return std::nullopt;
}

// Counts the request of a key, where its route is counted.
void Router::charge(Exchange& exchange, bool is_counted) {
  if (!exchange.grant() || service_.accounting() == nullptr) return;
  Quotas& quotas = service_.accounting()->quotas();
  exchange.set_headers(quotas.headers(*exchange.grant()));
  if (!is_counted) return;
  exchange.set_ticket(quotas.admit(*exchange.grant()));
  exchange.set_headers(exchange.ticket()->headers());
}

Awaitable<void> Router::dispatch(OpenExchange& open) {
  admit(open.exchange->request(), open.admission);
  const Admission& admission = open.admission;
  Exchange& exchange = *open.exchange;
  exchange.set_route(admission.path(), *match_path(strip_base(admission.path()), strip_base(exchange.request().path)));
  exchange.set_grant(admission.grant);
  charge(exchange, admission.route->is_counted);
  co_await open.admission.route->handle(*open.exchange, service_);
}

Awaitable<void> Router::handle(Exchange& exchange) {
  Entry entry(*this, exchange);
  OpenExchange& open = entry.open();
  std::optional<ApiError> error;
  try {
    co_await dispatch(open);
  } catch (const ApiException& exception) {
    error = true_error(exchange, exception.error());
  } catch (const boost::system::system_error&) {
    open.error = client_gone().code;
    throw;
  } catch (const std::exception& exception) {
    fmt::print(stderr, "vitrine: request {}: {}\n", exchange.id(), exception.what());
    error = ApiError{.status = 500, .message = "the server failed on this request; its log says why"};
  }
  open.error = error ? error->name() : "";
  open.status = error && !exchange.has_begun() ? error->status : exchange.status();
  service_.metrics().count_response(open.admission.path(), open.status);
  if (!error) co_return;
  if (!exchange.has_begun()) {
    co_await exchange.respond(error->response());
  } else {
    co_await exchange.write_events("data: " + error->json() + "\n\n");
    co_await exchange.end_events();
  }
}

HttpResponse Router::refuse(unsigned status, const std::string& id) {
  ApiError error{.status = status, .message = "the request is malformed", .code = "malformed_request"};
  if (status == 408) error = {.status = status, .message = "the request took too long to arrive", .code = "timeout"};
  if (status == 413) error = {.status = status, .message = "the body is too long", .code = "body_too_long"};
  if (status == 415)
    error = {.status = status, .message = "Content-Encoding: send the body as it is", .code = "unsupported_encoding"};
  if (status == 431)
    error = {.status = status, .message = "the head of the request is too long", .code = "head_too_long"};
  log_request(log_, {.request_id = id, .status = status, .error = error.code});
  return error.response();
}

}  // namespace vitrine::server
