#include "tools/hub/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace vitrine::hub {
namespace {

constexpr std::size_t kMaxHeaders = 200;
constexpr std::size_t kMaxHeaderBytes = 8192;
constexpr std::size_t kMaxErrorBytes = std::size_t{16} << 10U;

// One transfer, as libcurl's callbacks see it.
struct Transfer {
  const BodySink& sink;
  const std::function<bool()>& cancelled;
  HttpResponse response;
  std::optional<base::Error> error;
};

void start_answer(HttpResponse& response) {
  std::erase_if(response.headers, [](const auto& header) {
    return !header.first.starts_with("x-linked-") && !header.first.starts_with("x-error-");
  });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

long status_of(std::string_view line) {
  const std::size_t space = line.find(' ');
  long status = 0;
  if (space == std::string_view::npos) return status;
  for (const char c : line.substr(space + 1, 3))
    status = status * 10 + (c >= '0' && c <= '9' ? c - '0' : 0);
  return status;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& response = static_cast<Transfer*>(user)->response;
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    start_answer(response);
    response.error_body.clear();
    response.status = status_of(line);
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos &&
                                                       response.headers.size() < kMaxHeaders &&
                                                       line.size() < kMaxHeaderBytes) {
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    response.headers[name] = trimmed(line.substr(colon + 1));
  }
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.response.ok()) {
    std::string& kept = transfer.response.error_body;
    kept.append(data, std::min(size * count, kMaxErrorBytes - kept.size()));
    return size * count;
  }
  auto taken = transfer.sink(transfer.response, std::as_bytes(std::span(data, size * count)));
  if (taken) return size * count;
  transfer.error = std::move(taken).error();
  return 0;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user)->cancelled() ? 1 : 0;
}

class HeaderList {
 public:
  explicit HeaderList(const std::vector<std::string>& headers) {
    for (const std::string& header : headers)
      list_ = curl_slist_append(list_, header.c_str());
  }
  ~HeaderList() { curl_slist_free_all(list_); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

void init_curl_once() {
  static std::once_flag once;
  std::call_once(once, [] { VT_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "curl_global_init"); });
}

}  // namespace

struct HttpClient::Handle {
  CURL* curl = curl_easy_init();
  ~Handle() { curl_easy_cleanup(curl); }
};

HttpClient::HttpClient(HttpTimeouts timeouts, std::function<bool()> cancelled)
    : timeouts_(timeouts), cancelled_(std::move(cancelled)) {
  init_curl_once();
  handle_ = std::make_unique<Handle>();
  VT_CHECK(handle_->curl != nullptr, "curl_easy_init");
}

HttpClient::~HttpClient() = default;

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

base::Result<HttpResponse> HttpClient::get(const HttpRequest& request, const BodySink& sink) {
  return transfer(Method::kGet, request, sink);
}

base::Result<HttpResponse> HttpClient::post(const HttpRequest& request, std::size_t max_bytes, std::string& text) {
  text.clear();
  return transfer(Method::kPost, request,
                  [&](const HttpResponse&, std::span<const std::byte> bytes) -> base::Result<void> {
                    const std::size_t num_taken = std::min(bytes.size(), max_bytes - text.size());
                    text.append(reinterpret_cast<const char*>(bytes.data()), num_taken);
                    return {};
                  });
}

base::Result<HttpResponse> HttpClient::transfer(Method method, const HttpRequest& request, const BodySink& sink) {
  CURL* curl = handle_->curl;
  curl_easy_reset(curl);
  Transfer transfer{sink, cancelled_, {}, std::nullopt};
  const HeaderList headers(request.headers);
  const bool is_https = request.url.starts_with("https:");
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  // A secure source must not hand over to an insecure one.
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, method == Method::kGet ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 8L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "vitrine");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, timeouts_.connect_s);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, timeouts_.stall_s);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  if (method == Method::kPost) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  }
  if (!request.bearer_token.empty()) {
    // libcurl drops these credentials when a redirect changes the host, the port or the scheme.
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, request.bearer_token.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  if (transfer.error) return std::move(*transfer.error);
  if (code == CURLE_OK) return std::move(transfer.response);
  if (code == CURLE_ABORTED_BY_CALLBACK) return base::Error{base::ErrorKind::kInterrupted, "interrupted"};
  return base::Error{base::ErrorKind::kUnavailable,
                     fmt::format("{}: {}", url_origin(request.url), curl_easy_strerror(code))};
}

base::Result<HttpResponse> HttpClient::get_text(const HttpRequest& request, std::size_t max_bytes, std::string& text) {
  text.clear();
  return get(request, [&](const HttpResponse&, std::span<const std::byte> bytes) -> base::Result<void> {
    if (text.size() + bytes.size() > max_bytes) {
      return base::Error{base::ErrorKind::kUnavailable,
                         fmt::format("{}: answer longer than {} bytes", url_origin(request.url), max_bytes)};
    }
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  });
}

std::chrono::seconds retry_after(const HttpResponse& response) {
  constexpr std::time_t kMost = 86'400;
  const std::string text = response.header("retry-after");
  std::time_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    const std::time_t date = ::curl_getdate(text.c_str(), nullptr);
    seconds = date < 0 ? 0 : date - std::time(nullptr);
  }
  return std::chrono::seconds(std::clamp<std::time_t>(seconds, 0, kMost));
}

std::string url_origin(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  std::string_view host = url.substr(scheme + 3, url.find_first_of("/?#", scheme + 3) - scheme - 3);
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  return std::string(url.substr(0, scheme + 3)) + std::string(host);
}

std::string url_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace vitrine::hub
