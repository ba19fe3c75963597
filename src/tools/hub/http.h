#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::hub {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string bearer_token;          // sent to the host of `url` only, never to one that it redirects to
  std::string body = {};             // of post(), whose headers say what it is
};

// The final answer. Header names are in lower case; x-linked-... and x-error-... are kept from the answers that
// redirected here, all others are of the final one.
struct HttpResponse {
  long status = 0;
  std::map<std::string, std::string> headers;
  std::string error_body;  // of an answer that is not 2xx, its first 16 KiB

  std::string header(const std::string& name) const;
  bool ok() const { return status >= 200 && status < 300; }
};

struct HttpTimeouts {
  long connect_s = 20;
  long stall_s = 30;  // without a byte
};

// Called for the body of a 2xx answer; an error ends the transfer and is what get() answers.
using BodySink = std::function<base::Result<void>(const HttpResponse& head, std::span<const std::byte> bytes)>;

// A libcurl handle; connections are kept between requests. Proxies come from the environment. One thread.
class HttpClient {
 public:
  HttpClient(HttpTimeouts timeouts, std::function<bool()> cancelled);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any status is an answer. kUnavailable where no (whole) answer came, kInterrupted where `cancelled` said so.
  base::Result<HttpResponse> get(const HttpRequest& request, const BodySink& sink);
  // Sends the body; redirects are not followed. `text` is what a 2xx answer says, up to `max_bytes` of it.
  base::Result<HttpResponse> post(const HttpRequest& request, std::size_t max_bytes, std::string& text);
  // The body in memory; kUnavailable where it is longer than `max_bytes`.
  base::Result<HttpResponse> get_text(const HttpRequest& request, std::size_t max_bytes, std::string& text);

  bool cancelled() const { return cancelled_(); }

 private:
  enum class Method { kGet, kPost };
  base::Result<HttpResponse> transfer(Method method, const HttpRequest& request, const BodySink& sink);

  struct Handle;
  HttpTimeouts timeouts_;
  std::function<bool()> cancelled_;
  std::unique_ptr<Handle> handle_;
};

// What the header Retry-After asks for, in seconds or as a date, up to a day; 0 where there is none.
std::chrono::seconds retry_after(const HttpResponse& response);

// SCHEME://HOST[:PORT] of a URL, for messages.
std::string url_origin(std::string_view url);
// Percent-encodes all but unreserved characters and '/'.
std::string url_path(std::string_view path);

}  // namespace vitrine::hub
