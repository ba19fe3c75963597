#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/check.h"

namespace vitrine::doctor {

// An endpoint as a client would be told of it.
struct Endpoint {
  std::string url;      // "http://127.0.0.1:8080/v1"
  std::string api_key;  // empty: none
  std::string model;    // empty: any
};

// What a question over HTTP gave.
struct Reply {
  long status = 0;    // 0: no answer came
  std::string body;   // of a 2xx answer
  std::string error;  // why there was none
};
// Asks GET `url` with a key (empty: none); or with a body, POST.
using Ask = std::function<Reply(const std::string& url, const std::string& api_key, const std::string& body)>;
// Over libcurl, a few seconds each.
Ask ask_over_http();

// Reachability, address, key and model of an endpoint of the OpenAI form, each with the exact fix. Where nothing
// answers on this machine, the usual ports are tried; on others nothing but the address itself is asked.
std::vector<Check> check_server(const Endpoint& endpoint, const Ask& ask);

}  // namespace vitrine::doctor
