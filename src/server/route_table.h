#pragma once

#include <span>
#include <string_view>

#include "server/scope.h"
#include "server/service.h"

namespace vitrine::server {

struct Route {
  std::string_view method;
  std::string_view path;  // as documented; path_pattern.h says what parts in braces are
  Scope scope;
  Awaitable<void> (*handle)(Exchange&, Service&);
  bool is_counted = false;  // as a request of its key, which may have a limit of them
};

// The same memory for as long as the program runs.
std::span<const Route> routes();

}  // namespace vitrine::server
