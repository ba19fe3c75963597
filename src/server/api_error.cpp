#include "server/api_error.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

}  // namespace

std::string_view ApiError::type() const {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    case 500:
      return "server_error";
    case 502:
    case 504:
      return "upstream_error";
    case 503:
      return "unavailable_error";
    default:
      return "invalid_request_error";
  }
}

std::string ApiError::json() const {
  Json error;
  error["message"] = message;
  error["type"] = type();
  error["param"] = text_or_null(param);
  error["code"] = text_or_null(code);
  Json body;
  body["error"] = std::move(error);
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpResponse ApiError::response() const {
  return {.status = status, .headers = headers, .body = json() + "\n"};
}

ApiException bad_field(const std::string& param, const std::string& message, std::string code) {
  return ApiException({.status = 400, .message = param + ": " + message, .param = param, .code = std::move(code)});
}

ApiException storage_unavailable(std::string message) {
  return ApiException({.status = 503, .message = std::move(message), .code = "storage_unavailable"});
}

}  // namespace vitrine::server
