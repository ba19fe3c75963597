#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "server/access.h"
#include "server/request_log.h"
#include "server/route_table.h"

namespace vitrine::server {

// The path without what base URLs put before it: "/v1", "/api" or both.
std::string_view strip_base(std::string_view path);

// The route of a method and path. Throws ApiException: 404 that names the nearest path, 405 that names the methods.
const Route& find_route(std::string_view method, std::string_view path);

// Finds each exchange its route, lets in who may use it, makes errors answers, and logs what came of it.
class Router final : public ExchangeHandler {
 public:
  Router(Service& service, Access& access, ServerLog& log) : service_(service), access_(access), log_(log) {}

  Awaitable<void> handle(Exchange& exchange) override;
  std::optional<HttpResponse> refuse_head(const HttpRequest& head, const std::string& id) override;
  HttpResponse refuse(unsigned status, const std::string& id) override;

  // Exchanges whose answer is not whole yet.
  std::size_t num_open() const { return open_.size(); }
  // Ends the answers to keys that were revoked or rotated meanwhile, as far as access has seen it.
  void cut_dead_keys();
  // Ends all that are still under way, for the server stops.
  void cut_all();

 private:
  // What was found of a request: its route, then who asks.
  struct Admission {
    const Route* route = nullptr;
    std::optional<store::KeyGrant> grant = {};

    std::string_view path() const { return route != nullptr ? route->path : "other"; }
    RequestOutcome outcome(const HttpRequest& head, std::string_view request_id) const;
  };
  struct OpenExchange {
    Exchange* exchange;
    Admission admission = {};
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::string error = "server_stopped";  // for the log: what it is if nothing else comes
    unsigned status = 0;                   // that was counted
  };
  class Entry;

  // Throws ApiException; what was found until then stays.
  void admit(const HttpRequest& head, Admission& admission);
  void charge(Exchange& exchange, bool is_counted);
  Awaitable<void> dispatch(OpenExchange& open);
  void log_end(const OpenExchange& open);

  Service& service_;
  Access& access_;
  ServerLog& log_;
  std::list<OpenExchange> open_;
};

}  // namespace vitrine::server
