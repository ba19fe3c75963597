#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vitrine::server {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Names of headers and schemes do not tell large letters from small ones.
bool is_same_name(std::string_view a, std::string_view b);

// A whole request as it came, within the server's limits.
struct HttpRequest {
  std::string method;  // "POST"
  std::string path;    // what stands before the question mark, not decoded
  std::string query;   // what stands after it
  HttpHeaders headers;
  std::string body;

  // The value of the first header of that name (any case); empty where there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  HttpHeaders headers = {};
  std::string body = {};
};

}  // namespace vitrine::server
