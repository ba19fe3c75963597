#pragma once

#include <span>
#include <string_view>

#include "server/service.h"

namespace vitrine::server {

// Who may use a route.
enum class Scope { kPublic, kUser, kAdmin };

struct Route {
  std::string_view method;
  std::string_view path;  // as documented
  Scope scope;
  Awaitable<void> (*handle)(Exchange&, Service&);
};

std::span<const Route> routes();

}  // namespace vitrine::server
