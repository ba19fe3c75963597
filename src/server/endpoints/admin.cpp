#include "server/endpoints/admin.h"

#include <fmt/format.h>

#include "server/api_error.h"

namespace vitrine::server {

Accounting& accounting_of(Service& service) {
  if (service.accounting() != nullptr) return *service.accounting();
  throw ApiException(
      {.status = 503, .message = "this server was started without a place for keys", .code = "storage_unavailable"});
}

ApiException store_failure(const base::Error& error) {
  if (error.kind == base::ErrorKind::kMissing)
    return ApiException(
        {.status = 404, .message = "no key has this id; GET /v1/admin/keys lists them", .code = "not_found"});
  if (error.kind == base::ErrorKind::kUsage)
    return ApiException({.status = 400, .message = error.message, .code = "invalid_value"});
  fmt::print(stderr, "vitrine: {}\n", error.message);
  return ApiException({.status = 503,
                       .message = "the server's files can't be read or written; its log says why",
                       .code = "storage_unavailable"});
}

}  // namespace vitrine::server
