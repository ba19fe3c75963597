#include "tools/doctor/server_checks.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tools/hub/environment.h"
#include "tools/hub/http.h"

namespace vitrine::doctor {
namespace {

using base::ErrorKind;

constexpr std::size_t kMaxBodyBytes = std::size_t{4} << 20U;
constexpr hub::HttpTimeouts kTimeouts{.connect_s = 5, .stall_s = 20};
constexpr std::array kUsualPorts = {8080, 8000, 11434, 1234, 5000};

struct Address {
  std::string scheme;  // "http"
  std::string host;    // "127.0.0.1"
  std::string port;    // "" where it is the scheme's own
  std::string path;    // "/v1", without slashes at its end

  std::string origin() const { return scheme + "://" + host + (port.empty() ? "" : ":" + port); }
  bool is_loopback() const { return host == "localhost" || host.starts_with("127.") || host == "[::1]"; }
};

std::optional<Address> parse_address(const std::string& url) {
  Address address;
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return std::nullopt;
  address.scheme = url.substr(0, scheme);
  if (address.scheme != "http" && address.scheme != "https") return std::nullopt;
  const std::size_t path = std::min(url.find('/', scheme + 3), url.size());
  std::string host = url.substr(scheme + 3, path - scheme - 3);
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) {
    address.port = host.substr(colon + 1);
    host.resize(colon);
  }
  address.host = host;
  address.path = url.substr(path);
  while (address.path.ends_with('/'))
    address.path.pop_back();
  return address.host.empty() ? std::nullopt : std::optional(address);
}

class ServerCheck {
 public:
  ServerCheck(const Endpoint& endpoint, Address address, const Ask& ask)
      : endpoint_(endpoint), address_(std::move(address)), ask_(ask) {}

  std::vector<Check> run() {
    check_path();
    if (!check_key_form()) return std::move(checks_);
    check_proxy();
    const Reply models = ask_(base() + "/models", endpoint_.api_key, "");
    if (models.status == 0) {
      check_unreachable(models.error);
      return std::move(checks_);
    }
    add(ok("reachable", fmt::format("{} answers", address_.origin())));
    if (check_models(models)) check_answer();
    return std::move(checks_);
  }

 private:
  std::string base() const { return address_.origin() + address_.path; }
  void add(Check check) { checks_.push_back(std::move(check)); }

  // A base URL ends before the name of an endpoint.
  void check_path() {
    const std::string given = base();
    for (const std::string_view tail : {"/chat/completions", "/completions", "/models", "/embeddings"}) {
      if (!address_.path.ends_with(tail)) continue;
      address_.path.resize(address_.path.size() - tail.size());
      return add(fail("base_url", ErrorKind::kUsage,
                      fmt::format("{} names an endpoint; clients add that themselves", given), "base_url=" + base()));
    }
    if (endpoint_.url != given)
      return add(
          warn("base_url", endpoint_.url + " ends in a slash; some clients then ask for //", "base_url=" + given));
    add(ok("base_url", given));
  }

  // What the key says stays untold, and one that can be none is not sent.
  bool check_key_form() {
    const std::string& key = endpoint_.api_key;
    const auto is_odd = [](char c) { return c <= ' ' || c == '"' || c == '\'' || static_cast<unsigned char>(c) > 126; };
    if (std::ranges::none_of(key, is_odd)) return true;
    add(key.starts_with("Bearer ")
            ? fail("api_key", ErrorKind::kUsage, "it begins with \"Bearer \", which clients add themselves",
                   "leave that word out")
            : fail("api_key", ErrorKind::kUsage, "it holds spaces, quotes or a line's end",
                   "copy the key alone, without what stands around it"));
    return false;
  }

  void check_proxy() {
    if (!address_.is_loopback()) return;
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}) {
      const std::string passed = hub::environment("no_proxy") + "," + hub::environment("NO_PROXY");
      const bool is_passed = passed.find(address_.host) != std::string::npos || passed.find('*') != std::string::npos;
      if (hub::environment(name).empty() || is_passed) continue;
      return add(warn("proxy", fmt::format("{} is set: requests to this machine itself go through the proxy", name),
                      "export no_proxy=localhost,127.0.0.1"));
    }
  }

  bool answers(const Address& address) const {
    return ask_(address.origin() + (address.path.empty() ? "/v1" : address.path) + "/models", endpoint_.api_key, "")
               .status != 0;
  }

  void check_unreachable(const std::string& error) {
    Address other = address_;
    other.scheme = address_.scheme == "https" ? "http" : "https";
    if (answers(other)) {
      return add(fail("reachable", ErrorKind::kUnavailable,
                      fmt::format("nothing speaks {} there, but {}", address_.scheme, other.scheme),
                      fmt::format("base_url={}{}", other.origin(), address_.path)));
    }
    if (address_.is_loopback()) {
      other.scheme = "http";
      for (const int port : kUsualPorts) {
        other.port = std::to_string(port);
        if (other.port == address_.port || !answers(other)) continue;
        return add(fail("reachable", ErrorKind::kUnavailable,
                        fmt::format("{}: {}; a server answers at port {}", address_.origin(), error, port),
                        fmt::format("base_url={}{}", other.origin(), address_.path.empty() ? "/v1" : address_.path)));
      }
    }
    add(fail("reachable", ErrorKind::kUnavailable,
             error.starts_with(address_.origin()) ? error : address_.origin() + ": " + error,
             address_.is_loopback()
                 ? "start it: vitrine serve MODEL, and use the address that it prints"
                 : "check host and port; a server on another machine must be started with --host 0.0.0.0"));
  }

  // Whether the address and the key are right.
  bool check_models(const Reply& models) {
    switch (models.status) {
      case 200:
        return check_list(models.body);
      case 401:
        add(endpoint_.api_key.empty()
                ? fail("api_key", ErrorKind::kNoPermission, "the server needs a key (401)",
                       "give it with --api-key or OPENAI_API_KEY; vitrine keys create NAME makes one")
                : fail("api_key", ErrorKind::kNoPermission, "the server refuses this key (401)",
                       "vitrine keys list shows those that are live; make another with vitrine keys create NAME"));
        return false;
      case 403:
        add(fail("api_key", ErrorKind::kNoPermission, "the key is right, but may not do this (403)",
                 "use a key that is not for /metrics alone; vitrine keys create NAME"));
        return false;
      case 404:
      case 405:
        check_other_paths();
        return false;
      case 421:
        add(fail("host", ErrorKind::kConfig, fmt::format("the server does not go by the name {} (421)", address_.host),
                 "start it with --allow-host " + address_.host));
        return false;
      default:
        add(fail("models", ErrorKind::kUnavailable, fmt::format("{}/models answers {}", base(), models.status),
                 models.status >= 500 ? "look at the server's log" : "check the address: " + hint_of_scheme()));
        return false;
    }
  }

  std::string hint_of_scheme() const {
    return address_.scheme == "http" ? "a server behind TLS needs https://" : "the base URL ends in /v1";
  }

  void check_other_paths() {
    for (const std::string_view path : {"/v1", "/api/v1", "/openai/v1", ""}) {
      if (path == address_.path) continue;
      const Reply reply = ask_(address_.origin() + std::string(path) + "/models", endpoint_.api_key, "");
      if (reply.status != 200 && reply.status != 401) continue;
      return add(fail("base_url", ErrorKind::kUsage, fmt::format("{}/models is not there (404)", base()),
                      fmt::format("base_url={}{}", address_.origin(), path)));
    }
    add(fail("base_url", ErrorKind::kUsage, fmt::format("{}/models is not there (404), nor below /v1", base()),
             "that is no server of the OpenAI form; check host and port"));
  }

  bool check_list(const std::string& body) {
    const auto json = nlohmann::json::parse(body, nullptr, false);
    if (!json.is_object() || !json.contains("data") || !json["data"].is_array()) {
      add(fail("models", ErrorKind::kUnavailable, base() + "/models is no list of models",
               "that is no server of the OpenAI form; check host and port"));
      return false;
    }
    std::vector<std::string> names;
    for (const auto& item : json["data"]) {
      if (!item.is_object()) continue;
      names.push_back(item.value("id", ""));
      if (!item.contains("aliases") || !item["aliases"].is_array()) continue;
      for (const auto& alias : item["aliases"]) {
        if (alias.is_string()) names.push_back(alias.get<std::string>());
      }
    }
    const std::string all = fmt::format("{}", fmt::join(names, ", "));
    add(ok("api_key", endpoint_.api_key.empty() ? "none is needed" : "the server takes it"));
    if (endpoint_.model.empty() || std::ranges::find(names, endpoint_.model) != names.end()) {
      add(names.empty()
              ? fail("models", ErrorKind::kMissing, "the server lists no model", "look at the limits of the key")
              : ok("models", all));
      return !names.empty() && !endpoint_.model.empty();
    }
    add(fail("models", ErrorKind::kMissing, fmt::format("there is no model {} (404)", endpoint_.model),
             "use one of: " + all));
    return false;
  }

  // Only where a model was named: on others' servers a token costs.
  void check_answer() {
    const nlohmann::json request = {
        {"model", endpoint_.model}, {"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"max_tokens", 1}};
    const Reply reply = ask_(base() + "/chat/completions", endpoint_.api_key, request.dump());
    if (reply.status == 200) return add(ok("answer", "a chat of one token was answered"));
    if (reply.status == 429)
      return add(warn("answer", "over a limit of the key (429)", "wait, or raise it: vitrine keys limits ID"));
    add(fail("answer", ErrorKind::kUnavailable,
             reply.status == 0 ? reply.error : fmt::format("a chat of one token is answered {}", reply.status),
             reply.status == 503 ? "the server is busy or can't load the model; its log says why"
                                 : "look at the server's log"));
  }

  const Endpoint& endpoint_;
  Address address_;
  const Ask& ask_;
  std::vector<Check> checks_;
};

}  // namespace

Ask ask_over_http() {
  auto client = std::make_shared<hub::HttpClient>(kTimeouts, [] { return false; });
  return [client](const std::string& url, const std::string& api_key, const std::string& body) -> Reply {
    hub::HttpRequest request{.url = url, .headers = {}, .bearer_token = {}, .body = body};
    if (!api_key.empty()) request.bearer_token = api_key;
    if (!body.empty()) request.headers.emplace_back("Content-Type: application/json");
    Reply reply;
    const auto response = body.empty() ? client->get_text(request, kMaxBodyBytes, reply.body)
                                       : client->post(request, kMaxBodyBytes, reply.body);
    if (!response) return {.status = 0, .body = {}, .error = response.error().message};
    reply.status = response->status;
    return reply;
  };
}

std::vector<Check> check_server(const Endpoint& endpoint, const Ask& ask) {
  const auto address = parse_address(endpoint.url);
  if (!address) {
    return {fail("base_url", ErrorKind::kUsage, "not an address that begins with http:// or https://",
                 "base_url=http://127.0.0.1:8080/v1")};
  }
  return ServerCheck(endpoint, *address, ask).run();
}

}  // namespace vitrine::doctor
