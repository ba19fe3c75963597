#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace vitrine::server {

// What a client is told when its request can't be answered, in the shape of the OpenAI API. The message is ours: it
// never repeats bytes of the request but names that were checked.
struct ApiError {
  unsigned status = 400;
  std::string message = {};
  std::string param = {};  // the field at fault, such as "messages[2].role"; empty: none
  std::string code = {};   // for programs; empty: null
  HttpHeaders headers = {};

  // "invalid_request_error", "server_error", ...: follows from the status.
  std::string_view type() const;
  // For logs: its code, or its type where it has none.
  std::string name() const { return code.empty() ? std::string(type()) : code; }
  // {"error": {...}} on one line.
  std::string json() const;
  HttpResponse response() const;
};

// Ends the work on one request; the router turns it into the answer.
class ApiException : public std::runtime_error {
 public:
  explicit ApiException(ApiError error) : std::runtime_error(error.message), error_(std::move(error)) {}
  const ApiError& error() const { return error_; }

 private:
  ApiError error_;
};

// A 400 that names its field.
ApiException bad_field(const std::string& param, const std::string& message, std::string code = "invalid_value");

// A 503 for what lies on the server's disk; the reason is in its log.
ApiException storage_unavailable(std::string message);

}  // namespace vitrine::server
