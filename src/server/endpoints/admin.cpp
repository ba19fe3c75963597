#include "server/endpoints/admin.h"

#include <fmt/format.h>

#include "server/api_error.h"

namespace vitrine::server {

Accounting& accounting_of(Service& service) {
  if (service.accounting() != nullptr) return *service.accounting();
  throw storage_unavailable("this server was started without a place for keys");
}

ApiException store_failure(const base::Error& error) {
  if (error.kind == base::ErrorKind::kMissing)
    return ApiException(
        {.status = 404, .message = "no key has this id; GET /v1/admin/keys lists them", .code = "not_found"});
  if (error.kind == base::ErrorKind::kUsage)
    return ApiException({.status = 400, .message = error.message, .code = "invalid_value"});
  fmt::print(stderr, "vitrine: {}\n", error.message);
  return storage_unavailable("the server's files can't be read or written; its log says why");
}

}  // namespace vitrine::server
