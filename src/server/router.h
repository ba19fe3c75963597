#pragma once

#include <string_view>

#include "server/route_table.h"

namespace vitrine::server {

// The path without what base URLs put before it: "/v1", "/api" or both.
std::string_view strip_base(std::string_view path);

// The route of a method and path. Throws ApiException: 404 that names the nearest path, 405 that names the methods.
const Route& find_route(std::string_view method, std::string_view path);

// Finds each exchange its route and makes errors answers.
class Router final : public ExchangeHandler {
 public:
  explicit Router(Service& service) : service_(service) {}

  Awaitable<void> handle(Exchange& exchange) override;
  HttpResponse refuse(unsigned status) const override;

  // Exchanges whose answer is not whole yet.
  std::size_t num_open() const { return num_open_; }

 private:
  // `path` becomes that of the route, once it is found.
  Awaitable<void> dispatch(Exchange& exchange, std::string_view& path);

  Service& service_;
  std::size_t num_open_ = 0;
};

}  // namespace vitrine::server
